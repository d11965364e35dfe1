"""The runner `webhook`: a scheduler starts the program, after a signed request to a target of `targets.toml`.

[[runner]]
name = "airflow"
kind = "webhook"
target = "scheduler"
start_seconds = 3600          # how long the scheduler may take to start the program
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from headwater.backend.rerun.runners.elsewhere import COMMAND, await_end, offer
from headwater.backend.rerun.runners.launch import Launch, StopReason
from headwater.backend.targets import WebhookTarget, call_webhook, read_usable_targets
from headwater.errors import UnavailableError

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two requests


class WebhookRunner(BaseModel):
    """A scheduler. `targets` is the operator's list of targets, which is read for each request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    start_seconds: float = Field(3600.0, gt=0)
    targets: Path

    @classmethod
    def of_table(cls, table: Mapping[str, Any], home: Path) -> WebhookRunner:
        runner = cls.model_validate({**table, "targets": home / "targets.toml"})
        runner.read_target()
        return runner

    def run(self, launch: Launch, *, stop: StopReason, holding: Collection[int] = ()) -> int:  # noqa: ARG002 - it runs elsewhere
        folder = offer(launch)
        document = {
            "launch": launch.id, "program": {"namespace": launch.namespace, "job": launch.job},
            "command": ["headwater", *COMMAND, str(folder)],
        }  # fmt: skip
        if not self._request(document, launch.id, stop):
            return -9
        return await_end(launch, stop=stop, start_seconds=self.start_seconds)

    def _request(self, document: Mapping[str, Any], key: str, stop: StopReason) -> bool:
        """Send the request until the scheduler takes it. Returns False if the program must not start any more."""
        began, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            target = self.read_target()
            try:
                call_webhook(target, document, key=key)
            except UnavailableError as error:
                if not error.transient or time.monotonic() + pause - began > target.retry_seconds:
                    raise
            else:
                return True
            until = time.monotonic() + pause
            while time.monotonic() < until:
                if stop():
                    return False
                time.sleep(min(0.2, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def read_target(self) -> WebhookTarget:
        return read_usable_targets(self.targets).webhook(self.target)
