"""Random pipelines, replayed: DuckDB computes from edited inputs what each replay must write."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, seed, settings
from hypothesis import strategies as st

from tests.spark_listener.forked_programs import ForkedPrograms
from tests.spark_listener.random_pipelines import Pipeline, Place, Row, file_name, pipelines, read_rows, write_source

pytestmark = [pytest.mark.spark, pytest.mark.timeout(0)]


class Home:
    """The folder and home of a pipeline that has run once."""

    def __init__(self, folder: Path, programs: ForkedPrograms, pipeline: Pipeline) -> None:
        self.folder, self._programs, self._pipeline = folder, programs, pipeline
        programs.configure(folder / "home")
        for name, files in pipeline.sources.items():
            write_source(folder / name, pipeline.forms[name], files)
        for number in range(len(pipeline.programs)):
            (folder / f"job{number}.py").write_text(pipeline.script(number))
            done = programs.headwater(["run", "--home", "home", f"job{number}.py"], folder)
            assert done.returncode == 0, (pipeline, done.stderr)
        self.check(pipeline.rows(), "run")

    def rows(self, below: Path, name: str) -> Counter[Row]:
        return read_rows(below / "out" / name, self._pipeline.forms[name])

    def check(self, expected: dict[str, Counter[Row]], story: object) -> None:
        """Compare all datasets at their real places."""
        assert {name: self.rows(self.folder, name) for name in expected} == expected, (self._pipeline, story)

    def row(self, place: Place) -> str:
        name, file, record = place
        return f"{name}/{file_name(self._pipeline.forms[name], file)}:{record}"

    def replay(self, *arguments: str) -> tuple[Counter[Row] | None, dict[str, Any]]:
        """Return the rows of the output in the shadow and the answer. None: nothing had to run."""
        target = self._pipeline.target
        done = self._programs.headwater(["replay", f"out/{target}", *arguments, "--format", "json", "--home", "home"], self.folder)
        if "had no part in" in done.stderr or "No recorded run leads from" in done.stderr:
            return None, {}
        assert done.returncode == 0, (self._pipeline, arguments, done.stdout, done.stderr)
        answer = json.loads(done.stdout)
        return self.rows(Path(f"{answer['shadow']}{self.folder}"), target), answer


def _check(pipeline: Pipeline, programs: ForkedPrograms, chosen: Collection[Place]) -> None:
    before, target = pipeline.rows(), pipeline.target
    with TemporaryDirectory() as name:
        home = Home(Path(name).resolve(), programs, pipeline)
        source = next(iter(chosen))[0]
        rows = [argument for place in chosen for argument in ("--row", home.row(place))]
        _exclude(home, pipeline, source, rows, chosen)
        after, answer = home.replay("--edit", source, *rows, "--set", "v = 5")
        expected = pipeline.rows(edited=chosen)
        assert (before[target] if after is None else after) == expected[target], (pipeline, chosen, answer)
        _select(home, pipeline)
        home.check(before, "replays that are not committed")
        write_source(home.folder / source, pipeline.forms[source], pipeline.sources[source], chosen)
        after, answer = home.replay("--changed", source)  # keeps partial results, which the next one uses
        assert (before[target] if after is None else after) == expected[target], (pipeline, chosen, answer)
        after, answer = home.replay("--changed", source, "--commit")
        assert home.rows(home.folder, target) == expected[target], (pipeline, chosen, answer)


def _exclude(home: Home, pipeline: Pipeline, source: str, rows: list[str], chosen: Collection[Place]) -> None:
    after, answer = home.replay("--without", source, *rows)
    event("exclusive without effect" if after is None else f"exclusive with {len(answer['steps'])} programs")
    expected = pipeline.rows(without=chosen)[pipeline.target]
    assert (pipeline.rows()[pipeline.target] if after is None else after) == expected, (pipeline, chosen, answer)


def _select(home: Home, pipeline: Pipeline) -> None:
    """Replay the rows of one key: each is made again from the records of its trace, as by a run on these records alone."""
    before = pipeline.rows()[pipeline.target]
    k = min(key for key, _ in before)
    after, answer = home.replay("--kind", "selective", "--where", f"k = {k}")
    assert after is not None
    assert answer["differing"] == 0, (pipeline, answer)
    assert not {row: count for row, count in before.items() if row[0] == k and after[row] < count}, (pipeline, answer)
    kept = {Path(file.removeprefix("file:")): set(records) for file, records in answer["keep"].items()}
    parts = {place.removeprefix("file:").rstrip("/").rpartition("/")[2] for place in answer["restrict"]}
    if parts <= set(pipeline.sources):  # the replay does not start at an intermediate dataset
        only = {
            name: {
                (name, number, record)
                for number in range(len(pipeline.sources[name]))
                for record in kept.get(home.folder / name / file_name(pipeline.forms[name], number), ())
            }
            for name in parts
        }
        event("selective from the sources")
        assert after == pipeline.rows(only=only)[pipeline.target], (pipeline, answer)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Pipeline, list[Place]]:
    """A pipeline with rows in its target, and some records of one source."""
    pipeline = draw(pipelines().filter(lambda drawn: bool(drawn.rows()[drawn.target])))
    source = draw(st.sampled_from(sorted({name for job in pipeline.jobs for name in job.reads if name in pipeline.sources})))
    places = [(source, file, record) for file, rows in enumerate(pipeline.sources[source]) for record in range(len(rows))]
    return pipeline, sorted(draw(st.sets(st.sampled_from(places), min_size=1, max_size=3)))


SETTINGS = settings(
    deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


@pytest.fixture(scope="module")
def programs(root: Path) -> Iterator[ForkedPrograms]:
    with TemporaryDirectory() as folder, ForkedPrograms(root, Path(folder)) as server:
        yield server


@pytest.mark.slow
@seed(1)
@settings(SETTINGS, max_examples=2)
@given(case=cases())
def test_replays_equal_runs_on_edited_inputs(programs: ForkedPrograms, case: tuple[Pipeline, list[Place]]) -> None:
    _check(case[0], programs, case[1])


@pytest.mark.torture
@seed(int(os.environ.get("HEADWATER_SEED", "1")))
@settings(SETTINGS, max_examples=int(os.environ.get("HEADWATER_PLANS", "500")))
@given(case=cases())
def test_many_replays_equal_runs_on_edited_inputs(programs: ForkedPrograms, case: tuple[Pipeline, list[Place]]) -> None:
    _check(case[0], programs, case[1])
