"""The interface of a kind of action.

To add a kind, write a file with a class that has these members, and its line in `ACTIONS`. The runner calls `run` in a coroutine for each
attempt, after the execution is recorded as running and the audit log has a line. The returned text is the result that lists show. A
`HeadwaterError` is recorded as the reason of a failure.

An action must wait without blocking the event loop (`asyncio.to_thread`, or `in_thread_left_behind` for a program). It must run only
registered programs, and connect only to places in `targets.toml`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from headwater.backend.targets import Targets, read_usable_targets
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.model import Fact, FactKind
from headwater.backend.workspace import Workspace
from headwater.graph.access.scopes import Scope
from headwater.graph.stores import GraphStore

PARENT = "headwater-triggers"  # the job that is the parent of each started run is in this namespace
_log = logging.getLogger("headwater.triggers")
CAUSE = "@cause"  # a definition names the dataset of the cause so


@dataclass(frozen=True, slots=True)
class Order:
    """An execution of an action."""

    key: str
    trigger: str
    tenant: str
    cause: str
    depth: int
    attempt: int
    facts: Sequence[Fact]
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """The parts of a process that actions use. The lock `turn` lets one replay or recapture of the home run at a time."""

    workspace: Workspace
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def targets(self) -> Targets:
        """Return the targets of the home. A warning names each target that cannot be used."""
        targets = read_usable_targets(self.workspace.home.targets)
        for fault in targets.faults.values():
            _warn(fault.message)
        return targets


@lru_cache(1_000)
def _warn(message: str) -> None:
    """Log a warning once."""
    _log.warning("%s The other targets can be used.", message)


class Action(Protocol):
    """The interface of a kind of action."""

    repeats: bool
    """Whether an attempt that was cut off may run again: the receiver can tell a repetition by the key."""

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:
        """Return how long the action is repeated after transient errors, counted from its cause. Zero means five attempts."""

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:
        """Check the parameters that a person states for the action, and return the parameters to store.

        Raises:
            HeadwaterError: a parameter is missing or unknown, so the action could never run.
        """

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:
        """Return the scopes that the trigger's owner must have."""

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:
        """Whether this process can run the action. A program may be registered on one home of several."""

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        """Run the action, and return the result in a few words.

        Raises:
            HeadwaterError: the action failed. It runs again after a transient error.
        """

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:
        """Return the facts that the action is expected to cause, as pairs of kind and subject. They show cycles of triggers."""

    def describe(self, parts: Mapping[str, Any]) -> str:
        """Return the action in words. Predicates are left out, because they may contain values of records."""
