"""More than a thousand texts made to be more than text, each in a disguise, by every reader of texts that needs no service.

`test_injected` sends these texts to a service. Here they have all their forms: encoded once and twice, quoted, behind a sound part, before
a comment.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest

from headwater.backend.cli.output import Format, emit
from headwater.errors import HeadwaterError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.model import GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.records.roots import DataRoots
from headwater.graph.storage.addresses import address_of
from headwater.graph.stores import open_store
from headwater.graph.trace.predicate import check_predicate
from tests.backend.harm.payloads import Targets, payloads
from tests.backend.harm.test_injected import _Listener

_SECRET = "the-lines-of-a-file-that-nobody-may-read"
_DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "encoded": lambda text: quote(text, safe=""),
    "encoded twice": lambda text: quote(quote(text, safe=""), safe=""),
    "behind a condition": lambda text: f"origin = 'EWR' AND {text}",
    "behind an end": lambda text: f"1=1) OR ({text}",
    "in a text": lambda text: f"'{text}'",
    "as a name": lambda text: f'"{text}"',
    "before a comment": lambda text: f"{text} --",
    "within a comment": lambda text: f"/* {text} */ 1=1",
    "in a call": lambda text: f"length({text}) > 0",
    "below a folder": lambda text: f"/data/{text}",
    "below a bucket": lambda text: f"s3://lake/{text}",
    "as a file": lambda text: f"file:///{text.lstrip('/')}",
    "in capitals": str.upper,
    "behind blanks": lambda text: f" \t{text}",
    "with an end of line": lambda text: f"x\n{text}\n",
}


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("around")
    (folder / "secret").write_text(_SECRET)
    return folder


@pytest.fixture(scope="module")
def texts(around: Path) -> list[str]:
    """Each once."""
    with closing(_Listener()) as nobody:
        plain = payloads(Targets(str(around / "made"), str(around / "secret"), nobody.address))
    found = list(dict.fromkeys(disguise(text) for text in plain.values() for disguise in _DISGUISES.values()))
    assert len(found) >= 1_000
    return found


def _is_refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except HeadwaterError:
        return True
    return False


def test_no_predicate_is_more_than_a_condition(texts: list[str], around: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'EWR' AS origin, 1.0 AS wind")
        database = Database(connection)
        taken = 0
        for text in texts:
            if _is_refused(lambda text=text: check_predicate(database, text)):  # type: ignore[misc]
                continue
            taken += 1
            try:
                found = connection.execute(f"SELECT origin, wind FROM t WHERE {check_predicate(database, text)}").fetchall()
            except duckdb.Error:
                continue  # a column that is not there, a text that is no number
            assert found in ([], [("EWR", 1.0)]), text
        assert 0 < taken < len(texts) // 2, "comments around a sound condition, and texts, are sound"
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1,)]
    assert sorted(path.name for path in around.iterdir()) == ["secret"], "a file was made"


def test_no_path_leads_out_of_what_may_be_read(texts: list[str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part-0").write_text("sound")
    look = DataRoots.of([tmp_path / "data"]).look()
    assert look.file(str(tmp_path / "data" / "part-0"))[1].content()
    for text in (*texts, *(f"{tmp_path}/data/{text}" for text in texts)):
        try:
            _, file = look.file(text)
        except (HeadwaterError, OSError, ValueError):
            continue
        raise AssertionError(f"{text!r} is taken for {file.name}")


def test_no_address_names_two_hosts(texts: list[str]) -> None:
    for text in texts:
        try:
            address = address_of(text)
        except HeadwaterError:
            continue
        assert "@" not in address.authority or address.scheme == "abfss", text
        assert not set(address.authority) & set("/\\?#\r\n\t "), text
        assert ".." not in address.path.split("/"), text


async def test_a_name_is_found_as_it_is_and_changes_nothing(texts: list[str], tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    try:
        names = [text for text in texts if "\0" not in text]
        nodes = [Node(node_id(NodeKind.DATASET, "injected", name), NodeKind.DATASET, name, {"description": name}) for name in names]
        await store.apply("t", [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "k"), nodes)], offset=1)
        before = await store.fingerprint("t")
        for node in nodes[::7]:
            page = await store.search("t", node.name[:200], kinds=(NodeKind.DATASET,), first=1_000)
            assert node.id in {found.id for found in page.nodes}, node.name
        (found,) = await store.get("t", [nodes[-1].id])
        assert found.properties["description"] == names[-1]
        assert await store.fingerprint("t") == before
        assert (await store.counts("t"))[NodeKind.DATASET] == len(names)
    finally:
        await store.close()


def test_no_cell_begins_a_formula(texts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"name": text, "note": text} for text in texts], columns=["name", "note"], format=Format.CSV)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert len(rows) == len(texts) + 1
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
