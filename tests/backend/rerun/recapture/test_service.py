"""Processes and leftovers of a recapture: programs without Spark, whose captures cannot be kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from headwater.backend.rerun.recapture.file_pairs import DiffersError
from headwater.backend.rerun.recapture.manifest_rewriter import Rewriting
from headwater.backend.rerun.recapture.spool_captures import Captured
from headwater.backend.rerun.replay.runner import ReplayFailedError
from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind, node_id
from tests.backend.recapturing import RUN, Recapturing
from tests.graph.jobs import TENANT

if TYPE_CHECKING:
    from headwater.spark_listener.spool import Item, SpoolFolder


async def test_what_is_not_registered_changed_or_gone_is_not_run(here: Recapturing) -> None:
    with pytest.raises(UnsupportedError, match=r"job app \(namespace team\) is not registered on this home"):
        await here.service.plan(TENANT, here.dataset)
    script = here.register()
    plan = await here.service.plan(TENANT, here.dataset)
    assert (plan.invocation.script, plan.run.run_id) == (str(script), RUN)
    script.write_text("pass")
    with pytest.raises(UnsupportedError, match="has changed since it was registered"):
        await here.service.plan(TENANT, here.dataset)
    with pytest.raises(UnsupportedError, match="has changed since it was registered"):
        await here.service.run(TENANT, plan)
    (here.out / "part-00000").unlink()
    with pytest.raises(NotFoundError, match="holds no file of data any more"):
        await here.service.plan(TENANT, here.dataset)
    assert not here.marker.exists()
    assert list(here.replays.iterdir()) == []


async def test_an_output_on_remote_storage_is_refused(here: Recapturing) -> None:
    with pytest.raises(UnsupportedError, match="on no local disk"):
        await here.service.plan(TENANT, node_id(NodeKind.DATASET, "s3://lake", "out"))


async def test_the_program_runs_with_capture_in_a_home_of_its_own_and_without_recorded_lineage_nothing_is_kept(here: Recapturing) -> None:
    here.register(TZ="UTC", HEADWATER_URL="http://127.0.0.1:9", OPENLINEAGE_URL="http://127.0.0.1:9")
    plan = await here.service.plan(TENANT, here.dataset)
    with pytest.raises(UnsupportedError, match="could not be captured: the second run recorded nothing of it"):
        await here.service.run(TENANT, plan)
    seen = here.seen()
    assert (seen["order"]["captures"], seen["order"]["exclude"], seen["argv"]) == (True, {}, ["--day", "1"])
    place = Path(seen["order"]["shadow"]).parent
    assert place.parent == here.replays
    assert seen["told"] == {
        "HEADWATER_HOME": str(place / "home"), "HEADWATER_MODE": "active", "HEADWATER_RDD_RECORDS": "true",
        "HEADWATER_REPLAY": str(place / "order.json"), "TZ": "UTC",
    }  # fmt: skip
    assert list(here.replays.iterdir()) == []
    assert (here.out / "part-00000").read_text() == "same"


async def test_a_difference_is_named_and_nothing_is_left(here: Recapturing) -> None:
    here.register(content="other")
    plan = await here.service.plan(TENANT, here.dataset)
    with pytest.raises(DiffersError, match=r"out/part-00000 holds other bytes"):
        await here.service.run(TENANT, plan)
    assert list(here.replays.iterdir()) == []


async def test_of_a_program_that_fails_the_log_is_left_alone(here: Recapturing) -> None:
    here.register(then="raise LookupError('the day')")
    plan = await here.service.plan(TENANT, here.dataset)
    with pytest.raises(ReplayFailedError, match=r"(?s)job.py ended with exit code 1: .*LookupError: the day"):
        await here.service.run(TENANT, plan)
    (place,) = here.replays.iterdir()
    assert {path.name for path in place.iterdir()} == {"program.log", "order.json"}


async def test_each_partition_that_a_program_writes_is_kept_as_of_the_run_that_wrote_it(here: Recapturing) -> None:
    here.register()
    runs = {day: f"0190a6f2-0000-7000-8000-00000000010{day}" for day in (1, 2)}
    for day, run in runs.items():
        await here.wrote(here.out / f"day={day}", run, subset={"day": str(day)})
    plan = await here.service.plan(TENANT, f"{here.dataset}/day=1")
    assert (plan.output, plan.within, plan.run.run_id) == (here.dataset, "day=1", runs[1])
    shadow = here.folder / "shadow"
    name = f"{shadow}{here.out}"

    def capture(day: int) -> Captured:
        sink = {"dataset": {"namespace": "file", "name": name}, "path": f"file:{name}/day={day}"}
        return Captured(cast("Item", None), cast("SpoolFolder", None), {"sink": sink, "status": "complete"}, {}, [])

    kept, left = await here.service._chosen(TENANT, plan, [capture(1), capture(2)], Rewriting(shadow, []))
    assert ([run.run_id for _, run in kept], left) == ([runs[1], runs[2]], {})
    kept, left = await here.service._chosen(TENANT, plan, [capture(1), capture(2), capture(2)], Rewriting(shadow, []))
    assert ([run.run_id for _, run in kept], left) == ([runs[1]], {f"{here.dataset}/day=2": "the program writes it more than once"})
    with pytest.raises(UnsupportedError, match=r"out/day=1 could not be captured: the second run recorded nothing of it"):
        await here.service._chosen(TENANT, plan, [capture(2)], Rewriting(shadow, []))
