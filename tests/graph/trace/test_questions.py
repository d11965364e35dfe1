"""How datasets, records and columns are named in a question, and what is answered where one makes no sense."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.trace import Semantics
from headwater.graph.trace.functions import FUNCTIONS
from tests.graph.jobs import Job
from tests.graph.trace.conftest import records
from tests.graph.trace.small import copy


async def test_csv_between_jobs_is_linked_by_position(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "mid", 1, "csv")
    job = Job(store, "renamed", 5)
    scan = job.scan(tmp_path / "mid", "csv", {"name": "string", "number": "int"}, {"header": "true"})
    most = job.aggregation("max", job.attr(scan, "number"))
    job.write(job.aggregate(scan, ["name"], {"x": (most, len, "bigint")}), tmp_path / "out", "parquet", ["name", "x"])
    answer = await ask(dataset=str(tmp_path / "out"), where="name = 'b'", column="x", semantics=Semantics.WITNESS)
    assert records(answer) == {("t.csv", 4)}
    assert answer.exact


async def test_records_to_begin_with_need_not_be_read(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    file = next(str(path) for path in sorted((tmp_path / "out").glob("*.parquet")) if pq.read_metadata(path).num_rows > 1)
    for values in (True, False):
        answer = await ask(dataset=str(tmp_path / "out"), rows=[(file, 1)], values=False, selected_values=values)
        assert [(record.row, bool(record.values)) for record in answer.selected] == [(1, values)]
        assert len(answer.records) == 1
        with pytest.raises(InvalidQueryError, match="has no record 99"):
            await ask(dataset=str(tmp_path / "out"), rows=[(file, 1), (file, 99)], selected_values=values)
        with pytest.raises(InvalidQueryError, match="has no column x"):
            await ask(dataset=str(tmp_path / "out"), rows=[(file, 1)], column="x", semantics=Semantics.WITNESS, selected_values=values)


@pytest.mark.parametrize("name", ["out", "dataset:file:{}/out", "{}/out", "file:{}/out", "{}/out/"])
async def test_a_dataset_is_found_by_id_name_path_or_the_end_of_it(store, ask, raw, tmp_path, name) -> None:
    copy(store, raw, tmp_path / "out", 1)
    assert (await ask(dataset=name.format(tmp_path), where="v = 5")).total == 1


async def test_an_unknown_dataset_names_what_is_near(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "reports", 1)
    with pytest.raises(NotFoundError, match=r"No dataset is called .*report.*Near are: .*/reports"):
        await ask(dataset=f"{tmp_path}/report")


async def test_an_ambiguous_name_lists_the_ids(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "x" / "out", 1)
    copy(store, raw, tmp_path / "y" / "out", 2)
    with pytest.raises(InvalidQueryError, match="2 datasets are called out"):
        await ask(dataset="out")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("v =", "does not parse"),
        ("w = 5", r"names w, which is no column\..*The columns are: k, v\."),
        ("vv = 5", r"names vv, which is no column\..*Did you mean v\?"),
        ('k = "a"', r"names a, which is no column\..*Text stands in single quotes\."),
        ("x.v = 5", r"names x, which is no column\."),
        ("v IN (SELECT 1)", "more than a condition"),
        ("EXISTS (FROM read_text('/etc/hostname'))", "more than a condition"),
        ("true) UNION SELECT (1", "more than a condition|does not parse"),
        ("", "does not parse"),
        ("-- v = 1", "does not parse"),
        ("v = 1, v = 2", "does not parse"),
        ("v = 1) OR (true", "does not parse"),
        ("true)::BOOLEAN = (v = 1", "does not parse"),
        ("true); DROP TABLE t; SELECT (1", "does not parse|more than a condition"),
        ("v = 'x'", "cannot be used"),
        ("CAST(k AS INTEGER) = 1", "cannot be used"),
        ("strptime(k, '%Y') IS NULL", "cannot be used"),
        ("length(repeat(k, 1000000000)) > 0", "may not use repeat"),
        ("list_sum(range(20000000)) > 0", "may not use list_sum|may not use range"),
        ("sleep_ms(60000) IS NULL", "may not use sleep_ms"),
        ("random() < 0.5", "may not use random"),
        ("getenv('HOME') <> ''", "may not use getenv"),
        ("current_setting('home_directory') <> ''", "may not use current_setting"),
        ("read_text('/etc/hostname') IS NULL", "may not use read_text"),
        ("system.main.lower(k) = 'a'", "may not use lower"),
        ("sum(v) > 1", "may not use sum"),
        ("row_number() OVER () = 1", "a window function"),
        ("list_filter([v], x -> x > 1) = [2]", "may not use list_filter"),
        ("$1 = v", "a parameter"),
        ("COLUMNS('v') = 1", r"a \*"),
        (f"k = '{'x' * 10_000}'", "10,006 characters"),
        (f"{'NOT ' * 2_000}true", "does not parse"),
        (f"k = {' || '.join(['k'] * 900)}", "nested too deeply"),
    ],
)
async def test_a_predicate_that_cannot_be_used_says_why(store, ask, raw, tmp_path, where, message) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(InvalidQueryError, match=message) as caught:
        await ask(dataset="out", where=where)
    assert caught.value.field == "where"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
async def test_a_predicate_on_one_of_two_columns_that_differ_in_case_alone_is_refused(store, ask, tmp_path, kind) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    if kind == "csv":
        (folder / "t.csv").write_text("1,9,5\n9,1,6\n")
    else:
        pq.write_table(pa.table([[1, 9], [9, 1], [5, 6]], ["a", "A", "b_1"]), folder / "t.parquet")
    job = Job(store, "cased", 1)
    job.write(job.scan(folder, kind, {"a": "bigint", "A": "bigint", "b_1": "bigint"}), tmp_path / "out", "csv", ["b_1"])
    for where in ("A = 9", "b_1 = 6 AND abs(a) > 0", '"A" IS NULL'):
        with pytest.raises(InvalidQueryError, match="a is the name of several columns"):
            await ask(dataset=str(folder), where=where, forward=True)
    answer = await ask(dataset=str(folder), where="b_1 = 6", forward=True)
    assert [record.row for record in answer.selected] == [1]


async def test_a_column_or_row_that_is_not_there_is_refused(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(InvalidQueryError, match=r"no column w\. It has k, v"):
        await ask(dataset="out", where="v = 5", column="w")
    with pytest.raises(InvalidQueryError, match="has no record 6"):
        await ask(dataset=str(raw), rows=[(str(raw), 6)], forward=True)
    with pytest.raises(NotFoundError, match="is no file of this dataset"):
        await ask(dataset="out", rows=[("/elsewhere", 0)])


async def test_a_column_that_other_files_alone_have_may_be_asked_for(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    later = pa.table({"k": ["c"], "v": pa.array([3], pa.int32()), "w": [1]})
    pq.write_table(later, tmp_path / "out" / "part-later.parquet")
    for asked in ({"where": "v = 5"}, {"rows": [(str(tmp_path / "out" / "part-00000.parquet"), 0)]}):
        answer = await ask(dataset="out", column="w", semantics=Semantics.WITNESS, **asked)
        assert (records(answer), answer.exact) == ({("t.csv", 0)}, True)
    with pytest.raises(InvalidQueryError, match=r"no column x\. It has k, v, w"):
        await ask(dataset="out", where="v = 5", column="x")


async def test_the_limit_cuts_the_list_and_the_total_counts_on(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    answer = await ask(dataset="out", limit=2)
    assert ([record.row for record in answer.records], answer.total) == ([0, 1], 6)


def test_predicates_may_use_functions_that_exist_and_give_one_result() -> None:
    with duckdb.connect() as database:
        known = database.execute("SELECT lower(function_name), list(DISTINCT stability) FROM duckdb_functions() GROUP BY 1").fetchall()
    volatile = {name for name, stability in known if "VOLATILE" in stability}
    assert FUNCTIONS - {name for name, _ in known} == set()
    assert FUNCTIONS & volatile == set()


async def test_a_predicate_may_use_the_usual_functions(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    where = """
        k IN ('a', 'b') AND k || 'x' NOT LIKE 'c%' AND coalesce(abs(v), 0) BETWEEN 1 AND 5 AND regexp_matches(k, '^a') AND [v][1] = v::INT
        AND CASE WHEN v > 2 THEN upper(k) ELSE k END = 'A' AND date_trunc('month', DATE '2024-02-03') + INTERVAL 1 DAY IS NOT NULL
    """
    assert (await ask(dataset=str(tmp_path / "out"), where=where)).total == 1
