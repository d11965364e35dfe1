"""The folder for real events of other systems: one line each, unchanged except for the ports of the servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).with_name("events")


def keep(name: str, events: Iterable[Mapping[str, Any]], *, port: int, usual: int) -> None:
    """Write the events of a system, over a server at a port, which becomes the usual one of its kind."""
    EVENTS.mkdir(exist_ok=True)
    lines = [json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in events]
    (EVENTS / name).write_text("".join(f"{line}\n" for line in lines).replace(f":{port}", f":{usual}"), encoding="utf-8")


def kept(name: str) -> list[dict[str, Any]]:
    """The events of a system, in the order in which it sent them."""
    return [json.loads(line) for line in (EVENTS / name).read_text(encoding="utf-8").splitlines()]
