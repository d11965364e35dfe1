"""The measures of a service with damaged files."""

from __future__ import annotations

from pathlib import Path

from headwater.backend.api.health import pending_of_all
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from tests.backend.events import body, run_event


async def test_a_tenant_whose_log_is_damaged_does_not_hide_that_others_wait(tmp_path: Path) -> None:
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        for tenant in ("bad", "good"):
            assert not workspace.events.submit(tenant, body(run_event(1), run_event(2))).result().rejected
        await workspace.graph.apply("bad", [], offset=10**9)  # the log has lost what the graph has
        assert await pending_of_all(workspace.projector, ["bad", "good"]) == 2
