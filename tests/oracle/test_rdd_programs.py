"""Random RDD programs: what a trace says of each written line is what an interpreter of the same program says. `HEADWATER_RDD_PROGRAMS=N`
runs N programs more (`make torture`); HEADWATER_SEED tells which."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

import headwater
from headwater.lineages import lineage
from headwater.spark_listener.declared import row_wise
from headwater.spark_listener.rdd import SavedRDD
from headwater.spark_listener.rdd_records import sparing
from tests.oracle import rdd_programs
from tests.oracle.rdd_drawn import OF_TWO, OPERATIONS, Drawn, Table, drawn_programs, tagged
from tests.oracle.rdd_laboratory import RddLaboratory, rdd_laboratory, run
from tests.oracle.rdd_programs import Step

pytestmark = [
    pytest.mark.spark, pytest.mark.timeout(100_000),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip

PROGRAMS = int(os.environ.get("HEADWATER_RDD_PROGRAMS", "0"))
SEED = int(os.environ.get("HEADWATER_SEED", "0"))
AT_ONCE = 6  # programs over the same tables


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RddLaboratory]:
    with rdd_laboratory(tmp_path_factory.mktemp("rdds"), "local[2,3]") as made:
        yield made


@settings(
    max_examples=1, deadline=None, derandomize=True, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip
@given(chance=st.randoms(use_true_random=False))
def test_a_trace_of_a_drawn_program_is_exactly_what_an_interpreter_says(laboratory: RddLaboratory, chance: random.Random) -> None:
    tables, some = drawn_programs(chance, AT_ONCE)
    note(f"{tables}\n{some}")
    check(laboratory, tables, some)


@pytest.mark.skipif(not PROGRAMS, reason="lasts as long as one likes: HEADWATER_RDD_PROGRAMS=250")
def test_traces_of_many_drawn_programs_are_exactly_what_an_interpreter_says(laboratory: RddLaboratory) -> None:
    for number in range(-(-PROGRAMS // AT_ONCE)):
        tables, some = drawn_programs(random.Random(f"{SEED} {number}"), min(AT_ONCE, PROGRAMS - number * AT_ONCE))
        print(f"seed {SEED}, {number}: {tables} {some}")  # noqa: T201  # pytest shows it where this fails
        check(laboratory, tables, some)


def check(laboratory: RddLaboratory, tables: list[Table], some: Sequence[Drawn]) -> None:
    """Run programs under capture, at once, and compare outputs and lineage with those of the interpreter."""
    laboratory.renew()
    folder = laboratory.new_folder()
    folder.mkdir()
    for number, table in enumerate(tables):
        (folder / f"table{number}.txt").write_text("".join(f"{key} {value}\n" for key, value in table))
    sources = [laboratory.context.textFile(str(folder / f"table{number}.txt"), 2) for number in range(len(tables))]
    captured = laboratory.side_by_side([partial(_captured, laboratory, sources, steps) for steps, frame in some if not frame])
    for steps, frame in sorted(some, key=lambda drawn: drawn[1]):
        if frame:  # which query was captured is known where there is one at a time
            lines = run(laboratory, sources, steps).map(lambda line: (line,))
            captured.append((steps, *laboratory.write(laboratory.framed(lines, "value string"))))
    for steps, out, capture in captured:
        assert isinstance(capture, dict), (steps, capture)
        expected = rdd_programs.lineage(tagged(tables), steps)
        found, exact = laboratory.lineage(out, capture)
        assert found == expected, f"{steps}: missing {expected - found}, too much {found - expected}"
        assert exact, (steps, capture["problems"])


def _captured(laboratory: RddLaboratory, sources: Sequence[Any], steps: list[Step]) -> tuple[list[Step], Path, Any]:
    return steps, *laboratory.save(run(laboratory, sources, steps))


def test_what_each_operation_makes(laboratory: RddLaboratory) -> None:
    """Each operation once by itself, over the same tables, so that a short run leaves none out."""
    tables = [[(1, 4), (1, 2), (-1, 5), (-2, 5), (3, 8), (1, 4)], [(1, 7), (-2, 3), (3, 8), (1, 4), (9, 9)]]
    check(laboratory, tables, [([Step(op, (0, 1) if op in OF_TWO else (0,), 3)], False) for op in dict.fromkeys(OPERATIONS)])


@pytest.fixture
def six(laboratory: RddLaboratory) -> Any:
    """The lines 0 to 5 of a file, in two partitions."""
    laboratory.renew()
    file = laboratory.folder / "six.txt"
    file.write_text("".join(f"{n}\n" for n in range(6)))
    return laboratory.context.textFile(str(file), 2)


def _made(laboratory: RddLaboratory, rdd: Any) -> tuple[Counter[tuple[str, frozenset[int]]], bool]:
    out, capture = laboratory.save(rdd)
    assert isinstance(capture, dict), capture
    found, exact = laboratory.lineage(out, capture)
    return Counter((line, frozenset(n for _, n in tags)) for line, tags in found.elements()), exact


def test_each_line_of_a_record_of_several_has_its_lineage(laboratory: RddLaboratory, six: Any) -> None:
    made, exact = _made(laboratory, six.map(lambda x: f"a{x}\nb{x}\r\nc" if x != "3" else "\r"))
    expected = [(f"{c}{n}" if c != "c" else c, frozenset({n})) for n in (0, 1, 2, 4, 5) for c in "abc"]
    assert (made, exact) == (Counter([*expected, ("", frozenset({3}))]), True)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_task_that_fails_at_first_counts_once(laboratory: RddLaboratory, six: Any, tmp_path: Path, place: str) -> None:
    mark = tmp_path / place

    def flaky(x: Any) -> Any:
        if not mark.exists():
            mark.touch()
            raise ValueError("once")
        return x

    lines = six.map(lambda x: flaky(x) if x == "4" and place == "before" else x)
    groups = lines.map(lambda x: (int(x) % 2, 1)).reduceByKey(lambda a, b: a + b, 2)
    made = _made(laboratory, groups.map(lambda kv: f"{flaky(kv[0]) if place == 'after' else kv[0]} {kv[1]}"))
    assert made == (Counter({("0 3", frozenset({0, 2, 4})): 1, ("1 3", frozenset({1, 3, 5})): 1}), True)
    assert mark.exists()


def test_keys_that_hold_none_are_keys(laboratory: RddLaboratory, six: Any) -> None:
    pairs = six.map(lambda x: (None if x == "1" else (int(x) % 2, None), 1))
    made, exact = _made(laboratory, pairs.reduceByKey(lambda a, b: a + b, 2).map(str))
    expected = {("((0, None), 3)", frozenset({0, 2, 4})): 1, ("((1, None), 2)", frozenset({3, 5})): 1, ("(None, 1)", frozenset({1})): 1}
    assert (made, exact) == (Counter(expected), True)


def test_a_function_over_a_partition_is_of_all_of_it_and_says_so(laboratory: RddLaboratory, six: Any) -> None:
    made, exact = _made(laboratory, six.mapPartitions(lambda lines: [",".join(lines)]))
    assert (made, exact) == (Counter({("0,1,2,3", frozenset({0, 1, 2, 3})): 1, ("4,5", frozenset({4, 5})): 1}), False)


def test_what_a_command_gives_is_of_the_whole_partition_and_says_so(laboratory: RddLaboratory, six: Any) -> None:
    made, exact = _made(laboratory, six.pipe("cat").filter(lambda line: line in "05"))
    assert (made, exact) == (Counter({("0", frozenset({0, 1, 2, 3})): 1, ("5", frozenset({4, 5})): 1}), False)


@pytest.mark.parametrize("check", [0, 2])
def test_a_function_that_is_declared_row_wise_is_of_what_it_pulled(laboratory: RddLaboratory, six: Any, check: int) -> None:
    @row_wise(check=check)
    def twice(lines: Any) -> Any:
        for line in lines:
            yield from [line] * (int(line) % 3)

    made, exact = _made(laboratory, six.mapPartitions(twice))
    assert (made, exact) == (Counter({(str(n), frozenset({n})): n % 3 for n in (1, 2, 4, 5)}), True)
    indexed = six.mapPartitionsWithIndex(row_wise(lambda index, lines: (f"{index}{line}" for line in lines)), preservesPartitioning=True)
    made, exact = _made(laboratory, indexed)
    assert (made, exact) == (Counter({(f"{n // 4}{n}", frozenset({n})): 1 for n in range(6)}), True)


def test_a_function_that_is_not_what_it_is_declared_to_be_is_found_out(laboratory: RddLaboratory, six: Any) -> None:
    @row_wise(check=1)
    def summed(lines: Any) -> Any:
        total = 0
        for line in lines:
            total += int(line)
            yield str(total)

    @row_wise(check=3)
    def last(lines: Any) -> Any:
        yield ",".join(lines)

    for function, lines in ((summed, ["0", "1", "3", "6", "4", "9"]), (last, ["0,1,2,3", "4,5"])):
        out, capture = laboratory.save(six.mapPartitions(function))
        assert [line for part in sorted(out.glob("part-*")) for line in part.read_text().splitlines()] == lines
        assert isinstance(capture, dict)
        assert capture["status"] == "refused"
        assert "declared row-wise" in capture["problems"][0]["reason"]


def test_a_function_that_declares_what_its_results_are_of_is_of_that(laboratory: RddLaboratory, six: Any) -> None:
    """The example of docs/guide/semantics.md."""
    page = Path(__file__).parents[2] / "docs" / "guide" / "semantics.md"
    found = [text for text in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) if "lineage(of=" in text]
    assert len(found) == 1
    names: dict[str, Any] = {"headwater": headwater, "readings": six.map(int)}
    exec(found[0], names)
    made, exact = _made(laboratory, names["steps"].map(str))
    assert (made, exact) == (Counter({("1", frozenset({n, n + 1})): 1 for n in (0, 1, 2, 4)}), True)


def test_a_function_that_declares_records_that_are_not_there_is_of_all_that_it_pulled_and_says_so(
    laboratory: RddLaboratory, six: Any
) -> None:
    placed = lineage(of=lambda number, _: [number + 1])(lambda lines: (line * 2 for line in lines))
    made, exact = _made(laboratory, six.mapPartitions(placed))
    expected = {(f"{n}{n}", frozenset({0, 1, 2, 3} if n < 4 else {4, 5})): 1 for n in range(6)}
    assert (made, exact) == (Counter(expected), False)


@pytest.mark.parametrize("way", ["declared", "cut before", "cut after", "kept", "indexed"])
def test_places_count_what_was_pulled(laboratory: RddLaboratory, six: Any, way: str) -> None:
    @lineage(of=lambda number, _: [number] if number < 1 else [number - 1, number], check=1)
    def joined(*given: Any) -> Iterator[str]:
        last = ""
        for line in given[-1]:
            yield last + line
            last = line

    lines = six.mapPartitions(row_wise(lambda lines: islice(lines, 3))) if way == "cut before" else six
    steps = lines.mapPartitionsWithIndex(joined) if way == "indexed" else lines.mapPartitions(joined)
    if way == "cut after":
        steps = steps.mapPartitions(row_wise(lambda lines: islice(lines, 3)))
    if way == "kept":
        steps = steps.persist()
        assert len(steps.take(1)) == 1
    made, exact = _made(laboratory, steps)
    pulled = {0: 3, 4: 2} if way.startswith("cut") else {0: 4, 4: 2}
    expected = {
        ("".join(map(str, of)), frozenset(of)): 1
        for first, count in pulled.items()
        for n in range(first, first + count)
        for of in [range(max(first, n - 1), n + 1)]
    }
    assert (made, exact) == (Counter(expected), True)


def test_a_function_that_declares_other_records_than_it_reads_is_found_out(laboratory: RddLaboratory, six: Any) -> None:
    @lineage(of=lambda number, _: [number], check=1)
    def summed(lines: Any) -> Any:
        total = 0
        for line in lines:
            total += int(line)
            yield str(total)

    out, capture = laboratory.save(six.mapPartitions(summed))
    assert [line for part in sorted(out.glob("part-*")) for line in part.read_text().splitlines()] == ["0", "1", "3", "6", "4", "9"]
    assert isinstance(capture, dict)
    assert capture["status"] == "refused"
    assert "declared to be made of" in capture["problems"][0]["reason"]


def _computed_before(lines: Any) -> Any:
    rdd = lines.map(str.strip)
    rdd.id()
    return rdd.persist()


def test_functions_that_run_together_are_of_all_that_they_pulled_and_say_so(laboratory: RddLaboratory, six: Any) -> None:
    out, capture = laboratory.save(six.barrier().mapPartitions(lambda lines: [",".join(lines)]).filter(len))
    assert isinstance(capture, dict), capture
    assert capture["problems"][0]["operator"].startswith("mapPartitions at ")
    both = frozenset(("six.txt", n) for n in range(6))
    assert laboratory.lineage(out, capture) == (Counter({("0,1,2,3", both): 1, ("4,5", both): 1}), False)


def test_a_function_that_stops_early_is_of_what_it_pulled(laboratory: RddLaboratory, six: Any) -> None:
    made, exact = _made(laboratory, six.mapPartitions(lambda lines: [next(lines)]))
    assert (made, exact) == (Counter({("0", frozenset({0})): 1, ("4", frozenset({4})): 1}), False)


def test_what_is_not_covered_is_refused_by_its_name(laboratory: RddLaboratory, six: Any) -> None:
    _, kept = laboratory.save(_computed_before(six))
    assert isinstance(kept, SavedRDD)
    assert kept.refused is not None
    assert kept.refused["operator"] == "persist"

    class Own:
        def __init__(self, key: int) -> None:
            self.key = key

        def __hash__(self) -> int:
            return 3

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.key == other.key

    _, own = laboratory.save(six.map(lambda x: (Own(int(x) % 2), 1)).reduceByKey(lambda a, b: a + b, 2).map(lambda pair: str(pair[1])))
    assert isinstance(own, dict)
    assert own["status"] == "refused"
    assert "Own" in own["problems"][0]["reason"]


def test_what_mode_auto_does_not_follow_is_refused_by_that_name(
    laboratory: RddLaboratory, six: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparing, "LITTLE", 1)
    laboratory.renew(sparing.Sparing(compiled=True))
    pairs = laboratory.context.textFile(str(laboratory.folder / "six.txt"), 2).map(lambda x: (int(x) % 2, 1))
    made, exact = _made(laboratory, pairs.reduceByKey(lambda a, b: a + b, 2).map(lambda pair: f"{pair[0]}"))
    assert (made, exact) == (Counter({("0", frozenset({0, 2, 4})): 1, ("1", frozenset({1, 3, 5})): 1}), True)
    _, joined = laboratory.save(pairs.join(pairs))
    assert isinstance(joined, SavedRDD)
    assert joined.refused is not None
    assert joined.refused["operator"] == "auto"


def test_files_that_come_before_the_first_action_are_read_as_without_capture(laboratory: RddLaboratory) -> None:
    laboratory.renew()
    folder = laboratory.folder / "late"
    folder.mkdir()
    (folder / "a").write_text("0\n1\n")
    pairs = laboratory.context.textFile(str(folder), 1).map(lambda x: (int(x) % 2, 1))
    counts = pairs.reduceByKey(lambda a, b: a + b, 1).cogroup(pairs.partitionBy(1), 1).mapValues(lambda sides: sum(map(sum, sides)))
    both = counts.persist().union(counts.sortByKey(numPartitions=1)).repartition(1).map(str)
    (folder / "a").write_text("0\n1\n2\n")
    (folder / "b").write_text("4\n")
    out, capture = laboratory.save(both)
    assert isinstance(capture, dict), capture
    found, exact = laboratory.lineage(out, capture)
    even = frozenset({("a", 0), ("a", 2), ("b", 0)})
    assert (found, exact) == (Counter({("(0, 6)", even): 2, ("(1, 2)", frozenset({("a", 1)})): 2}), True)


def test_files_that_come_before_a_query_of_a_frame_are_read_as_without_capture(laboratory: RddLaboratory) -> None:
    laboratory.renew()
    folder = laboratory.new_folder()
    folder.mkdir()
    (folder / "a").write_text("0\n1\n")
    lines = laboratory.context.textFile(str(folder), 1).map(lambda x: (int(x) % 2, int(x))).reduceByKey(lambda a, b: a + b, 1)
    frame = laboratory.framed(lines.map(lambda pair: (str(pair[1]),)), "value string")
    (folder / "b").write_text("4\n")
    out, capture = laboratory.write(frame)
    found, exact = laboratory.lineage(out, capture)
    assert (found, exact) == (Counter({("4", frozenset({("a", 0), ("b", 0)})): 1, ("1", frozenset({("a", 1)})): 1}), True)


def test_a_source_that_is_not_there_yet_is_no_fault_of_ours(laboratory: RddLaboratory) -> None:
    laboratory.renew()
    folder = laboratory.new_folder()
    lines = laboratory.context.textFile(f"{folder}/*", 1)
    whole = laboratory.context.wholeTextFiles(f"{folder}/*", 1)
    for rdd in (lines, lines.map(int), lines.map(lambda x: (x, 1)).reduceByKey(max, 1), whole.map(lambda file: file[1])):
        for action in (rdd.collect, rdd.count, lambda rdd=rdd: laboratory.save(rdd)):
            with pytest.raises(Py4JJavaError, match="matches 0 files"):
                action()
    with pytest.raises(Py4JJavaError, match="matches 0 files"):
        laboratory.write(laboratory.framed(lines.map(lambda line: (line,)), "value string"))
    laboratory.bridge.flush()
    laboratory.bridge.drain(0)
    assert laboratory.faults == []
    folder.mkdir()
    (folder / "a").write_text("7\n")
    out, capture = laboratory.save(lines)
    assert isinstance(capture, dict), capture
    assert laboratory.lineage(out, capture) == (Counter({("7", frozenset({("a", 0)})): 1}), True)


@pytest.fixture
def notes(laboratory: RddLaboratory) -> Path:
    """A folder of text files, two of them empty or with several lines."""
    laboratory.renew()
    folder = laboratory.new_folder()
    folder.mkdir()
    for name, text in {"a": "one\ntwo\n", "b": "", "c": "three", "d": "four\n", "e": "five"}.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.mark.parametrize("method", ["wholeTextFiles", "binaryFiles"])
def test_a_record_that_is_a_file_is_known_as_that_file(laboratory: RddLaboratory, notes: Path, method: str) -> None:
    files = getattr(laboratory.context, method)(str(notes), 2)
    names = files.map(lambda record: (len(record[1]) % 2, record[0].rpartition("/")[2]))
    out, capture = laboratory.save(names.reduceByKey(lambda a, b: ",".join(sorted([a, b]))).map(lambda pair: pair[1]))
    assert isinstance(capture, dict), capture
    found, exact = laboratory.lineage(out, capture)
    assert exact, capture["problems"]
    made = [(line, {name for name, _ in tags}, {row for _, row in tags}) for line, tags in found]
    assert sorted(name for _, names, _ in made for name in names) == [f"{name}.txt" for name in "abcde"]
    assert all(names == set(",".join(names_of).split(",")) and rows == {0} for line, names, rows in made for names_of in [[line]])


@pytest.mark.parametrize("written", ["saveAsPickleFile", "saveAsSequenceFile"])
def test_records_are_followed_through_files_of_pickled_objects_and_of_sequences(laboratory: RddLaboratory, six: Any, written: str) -> None:
    out, capture = laboratory.save(six.filter(lambda x: x != "2").map(lambda x: (int(x), x * 2)), written)
    assert isinstance(capture, dict), capture
    assert (capture["status"], capture["problems"]) == ("complete", [])
    laboratory.keep(capture)
    context = laboratory.context
    again = context.pickleFile(str(out)) if written == "saveAsPickleFile" else context.sequenceFile(str(out))
    made, exact = _made(laboratory, again.map(lambda pair: (pair[0] % 2, pair[0])).reduceByKey(lambda a, b: a + b, 2).map(str))
    assert (made, exact) == (Counter({("(0, 4)", frozenset({0, 4})): 1, ("(1, 9)", frozenset({1, 3, 5})): 1}), True)


def test_files_that_an_input_format_of_hadoop_reads_are_known_by_record(laboratory: RddLaboratory, six: Any) -> None:
    del six
    file, context = str(laboratory.folder / "six.txt"), laboratory.context
    text = "org.apache.hadoop.{}.TextInputFormat", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text"
    old: Any = context.hadoopFile(file, text[0].format("mapred"), *text[1:])
    new: Any = context.newAPIHadoopFile(file, inputFormatClass=text[0].format("mapreduce.lib.input"), keyClass=text[1], valueClass=text[2])
    conf = {"mapreduce.input.fileinputformat.inputdir": file}
    for lines in (old, new, context.hadoopRDD(text[0].format("mapred"), *text[1:], conf=conf)):
        made, exact = _made(laboratory, lines.map(lambda pair: pair[1]))
        assert (made, exact) == (Counter((str(n), frozenset({n})) for n in range(6)), True)


@pytest.mark.parametrize("name", ["textinputformat.record.delimiter", "mapreduce.input.linerecordreader.line.maxlength"])
def test_lines_that_a_read_takes_for_something_else_are_refused_by_the_name_of_its_setting(
    laboratory: RddLaboratory, six: Any, name: str
) -> None:
    del six
    file, context = str(laboratory.folder / "six.txt"), laboratory.context
    value = "3" if name.endswith("delimiter") else "7"
    kinds = "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text"
    new: Any = context.newAPIHadoopFile(file, "org.apache.hadoop.mapreduce.lib.input.TextInputFormat", *kinds, conf={name: value})
    conf = {"mapreduce.input.fileinputformat.inputdir": file, name: value}  # Spark leaves those out that `hadoopFile` is given
    old: Any = context.hadoopRDD("org.apache.hadoop.mapred.TextInputFormat", *kinds, conf=conf)
    for lines in (new, old):
        _, capture = laboratory.save(lines.map(lambda pair: pair[1]))
        assert isinstance(capture, dict)
        assert capture["status"] == "refused"
        assert name in capture["problems"][0]["reason"]


def test_an_empty_rdd_is_known(laboratory: RddLaboratory, six: Any) -> None:
    empty = laboratory.context.emptyRDD()
    both = empty.union(six).union(laboratory.context.union([laboratory.context.emptyRDD(), six]))
    assert _made(laboratory, both) == (Counter({(str(n), frozenset({n})): 2 for n in range(6)}), True)


def test_a_key_with_groups_in_several_partitions_is_a_superset_that_says_so(laboratory: RddLaboratory, six: Any) -> None:
    parted = six.map(lambda x: (int(x), 1)).partitionBy(2).mapPartitions(row_wise(lambda pairs: (("all", 1) for _ in pairs)), True)
    made, exact = _made(laboratory, parted.reduceByKey(lambda a, b: a + b, 2).map(str))
    assert (made, exact) == (Counter({("('all', 3)", frozenset(range(6))): 2}), False)
