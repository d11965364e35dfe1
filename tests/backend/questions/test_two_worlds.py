"""No answer to an analyst depends on a masked value, whatever a producer states about the files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from headwater.backend.access.masks import Mask
from tests.backend.questions.worlds import BY_NAME, BY_TAG, WORLDS, Claim, File, World, write

CSV = File("in.csv", "text", header="id,salary,city")
BARE_CSV = File("in.csv", "text")
JSON = File("in.json", "text", text='{{"id": "{id}", "salary": "{salary}", "city": "{city}"}}')
XML = File("in.xml", "text", text='<ROW salary="{salary}"><id>{id}</id></ROW>')
HONEST = ("id", "salary", "city")
BELOW = {"delta, statistics": "_delta_log", "iceberg, bounds": "metadata"}
# The graph knows the columns of these, which the files do not prove.
KNOWN = {"parquet, renamed by ids", "csv, a row for a header"}
HEADER = {"header": "true"}


def _csv(columns: Sequence[str] = HONEST, **options: str) -> Claim:
    return Claim("csv", columns, HEADER | options)


# name → files, statements of producers, columns with a tag in the graph, and values that an analyst still sees
CASES: dict[str, tuple[Sequence[File], Sequence[Claim], bool, Sequence[str]]] = {
    "csv": ([CSV], [_csv()], True, ["i0", "Ulm"]),
    "csv, quoted": ([File("in.csv", "text", header='"id","salary","city"', text='{id},"{salary}","Ulm, ""old"""')], [_csv()], True, ["i0"]),
    "csv, another separator": ([CSV], [_csv(), _csv(("id", "city"), sep="\x01")], True, []),
    "csv, a separator in the names": ([File("in.csv", "text", header="id;salary;city,town", text="{id};{salary};{city},x")],
                                      [_csv(("id;salary;city", "town"))], True, []),
    "csv, another quote": ([File("in.csv", "text", header="id,salary,city", text='{id},"{salary},x",{city}')], [_csv(quote="'")], True, []),
    "csv, a short row": ([File("in.csv", "text", header="id,salary,city", text='{id},"9,{salary}"')], [_csv(quote="")], True, []),
    "csv, single quotes": ([File("in.csv", "text", header="id,salary,city", text="{id},'9,{salary}'")], [_csv()], True, []),
    "csv, an escape": ([File("in.csv", "text", header="id,salary,city", text='"{id}\\",{salary}",{city},x')], [_csv(escape='"')], True, []),
    "csv, in another order": ([CSV], [_csv(), _csv(("salary", "id", "city"))], True, []),
    "csv, other names": ([CSV], [_csv(("a", "b", "c"))], True, []),
    "csv, without its header": ([BARE_CSV], [Claim("csv", HONEST)], True, []),
    "csv, a row for a header": ([BARE_CSV], [_csv(("i0", "s900", "Ulm"))], True, []),
    "csv, comments": ([File("in.csv", "text", header="salary,id,city", text="{salary},{id},{city}")],
                      [_csv(("salary", "id", "city"), comment="s"), _csv(("salary", "id", "city"), comment="s9")], True, []),
    "csv, a null": ([CSV], [_csv(nullValue="s900")], True, ["i0"]),
    "csv, an encoding": ([CSV], [_csv(encoding="utf-16"), _csv(encoding="cp037"), _csv(encoding="utf-7")], True, []),
    "csv, many lines": ([CSV], [_csv(multiLine="true")], True, ["i0"]),
    "csv, many lines by a digit": ([CSV], [_csv(multiLine="true", quote="9")], True, []),
    "csv, the same name twice": ([File("in.csv", "text", header="id,salary,Salary", text="{id},{salary},{salary}")],
                                 [_csv(("id", "salary1", "Salary2"))], True, []),
    "csv as json": ([CSV], [Claim("json", HONEST), Claim("json", HONEST, {"multiLine": "true"})], True, []),
    "csv as text": ([CSV], [Claim("text", ("value",))], True, []),
    "csv as binary": ([CSV], [Claim("binaryFile", ("path", "length", "content"))], True, []),
    "csv, a bad record": ([CSV], [Claim("csv", (*HONEST, "bad"), {**HEADER, "columnNameOfCorruptRecord": "bad"})], True, []),
    "json": ([JSON], [Claim("json", HONEST)], True, ["i0", "Ulm"]),
    "json as csv": ([JSON], [_csv(("a", "b"), sep="\x01"), Claim("csv", ("a", "b", "c"))], True, []),
    "json, many lines": ([JSON], [Claim("json", HONEST, {"multiLine": "true"})], True, []),
    "json, another case": ([File("in.json", "text", text='{{"id": "{id}", "Salary": "{salary}"}}')],
                           [Claim("json", ("id", "Salary"))], True, ["i0"]),
    "json, nested": ([File("in.json", "text", text='{{"id": "{id}", "person": {{"salary": "{salary}"}}}}')],
                     [Claim("json", ("id", "person"))], False, ["i0"]),
    "xml": ([XML], [Claim("xml", ("id", "_salary")), Claim("xml", ("id", "xsalary"), {"attributePrefix": "x"})], True, []),
    "parquet": ([File("in.parquet", "parquet")], [Claim("parquet", HONEST)], True, ["i0", "Ulm"]),
    "parquet, unknown": ([File("in.parquet", "parquet")], [], True, ["i0", "Ulm"]),
    "parquet as csv": ([File("in.parquet", "parquet")], [_csv(("id", "city"), sep="\x01")], True, []),
    "parquet as text": ([File("in.parquet", "parquet")], [Claim("text", ("value",))], True, []),
    "parquet as binary": ([File("in.parquet", "parquet")], [Claim("binaryFile", ("path", "length", "content"))], True, []),
    "parquet, another case": ([File("in.parquet", "parquet", ("id", "SALARY"))], [Claim("parquet", ("id", "SALARY"))], True, ["i0"]),
    "parquet, two cases": ([File("in.parquet", "parquet", ("id", "salary", "Salary", "SALARY"))], [Claim("parquet", HONEST)], True, ["i0"]),
    "parquet, two cases and a number": ([File("in.parquet", "parquet", ("id", "salary", "Salary", "salary_1"))], [], True, ["i0"]),
    "parquet, cases in files": ([File("a.parquet", "parquet", ("id", "salary")), File("b.parquet", "parquet", ("id", "Salary", "salary"))],
                                [], True, ["i0"]),
    "parquet, a partition of the name": ([File("in.parquet", "parquet")],
                                         [Claim("parquet", ("id", "city"), {}, ("salary",))], True, ["i0"]),
    "parquet, nested": ([File("in.parquet", "parquet", ("id", "person"))], [Claim("parquet", ("id", "person"))], False, ["i0"]),
    "parquet, renamed by ids": ([File("in.parquet", "parquet", ("id", "pay"), header="ids")], [Claim("parquet", ("id", "pay"))], True, []),
    "delta, mapped": ([File("in.parquet", "parquet", header="ids")],
                      [Claim("delta", ("id", "city"), {"columnmapping": "name", "physicalname.city": "salary"})], True, []),
    "iceberg, mapped": ([File("in.parquet", "parquet", header="ids")], [Claim("iceberg", ("id", "city"))], True, []),
    "delta, statistics": ([File("0.checkpoint.parquet", "parquet", ("id", "stats"))], [], True, []),
    "iceberg, bounds": ([File("m0.avro", "avro")], [Claim("avro", ("id", "city"))], True, []),
    "orc": ([File("in.orc", "orc")], [Claim("orc", HONEST)], True, ["i0", "Ulm"]),
    "orc, another case": ([File("in.orc", "orc", ("id", "Salary"))], [Claim("orc", ("id", "SALARY"))], True, ["i0"]),
    "orc, nested": ([File("in.orc", "orc", ("id", "person"))], [Claim("orc", ("id", "person"))], False, ["i0"]),
    "orc as csv": ([File("in.orc", "orc")], [_csv(("id", "city"), sep="\x01")], True, []),
    "avro": ([File("in.avro", "avro")], [Claim("avro", HONEST)], True, ["i0", "Ulm"]),
    "avro as csv": ([File("in.avro", "avro")], [_csv(("id", "city"), sep="\x01")], True, []),
}  # fmt: skip


# One of each kind, for the ordinary tests.
SELECTED = (
    "csv", "csv, quoted", "csv, another separator", "csv, another quote", "csv, without its header", "json as csv", "json, nested",
    "parquet, two cases", "parquet as binary", "parquet, renamed by ids", "delta, mapped",
    "delta, statistics",
)  # fmt: skip


@pytest.mark.parametrize("case", SELECTED)
async def test_answers_do_not_depend_on_what_is_masked(tmp_path: Path, case: str) -> None:
    await _compare(tmp_path, case, BY_NAME, thorough=False)


@pytest.mark.torture
@pytest.mark.parametrize("mask", [BY_NAME, BY_TAG], ids=["by name", "by tag"])
@pytest.mark.parametrize("case", CASES)
async def test_no_answer_depends_on_what_is_masked(tmp_path: Path, case: str, mask: Mask) -> None:
    await _compare(tmp_path, case, mask, thorough=True)


async def _compare(folder: Path, case: str, mask: Mask, *, thorough: bool) -> None:
    """Answers about the two worlds are the same, and contain no masked value."""
    files, claims, is_top_level, shown = CASES[case]
    if mask is BY_TAG and not is_top_level:
        return  # a tag is of a column
    told, sizes = [], []
    for number, salaries in enumerate(WORLDS):
        known = HONEST if mask is BY_TAG or case in KNOWN else ()
        world = World(folder / "home", claims, known, ("salary",), BELOW.get(case, ""))
        written = [write(world.lake, file, salaries) for file in files]
        sizes.append([path.stat().st_size for path in written])
        answers = await world.tell(written, mask, thorough=thorough)
        asked = {"s900", *(name for claim in claims for name in claim.columns)}
        assert not [salary for salary in salaries if salary in answers and salary not in asked], f"world {number}"
        told.append(answers)
        shutil.rmtree(folder / "home")
        shutil.rmtree(folder / "out", ignore_errors=True)
    assert sizes[0] == sizes[1]
    assert told[0] == told[1]
    assert all(value in told[0] for value in shown), "what is not masked is shown"
