"""The interface of a kind of action.

To add a kind, write a file with a class that has these members, and its line in `ACTIONS`. The runner calls `run` in a coroutine for each
attempt, after the execution is recorded as running and the audit log has a line. The returned text is the result that lists show. A
`HeadwaterError` is recorded as the reason of a failure.

An action must wait without blocking the event loop (`asyncio.to_thread`, or `in_thread_left_behind` for a program). It must run only
registered programs, and connect only to places in `targets.toml`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.backend.targets import Targets, read_targets
from headwater.backend.triggers.conditions import Known
from headwater.backend.triggers.model import Fact, FactKind
from headwater.backend.workspace import Workspace
from headwater.graph.access.scopes import Scope
from headwater.graph.stores import GraphStore

PARENT = "headwater-triggers"  # namespace of the job that is the parent of a started run
CAUSE = "@cause"  # stands for the dataset of the cause


@dataclass(frozen=True, slots=True)
class Order:
    """One execution. `key` is the same for each of its attempts. `facts` are those of its cause. `owner` is the name of the trigger's."""

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
    """The parts of a process that actions use. `turn`: one program of the home runs at a time for a replay or a recapture."""

    workspace: Workspace
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def targets(self) -> Targets:
        """Read the operator's list of targets. Raises `ConfigurationError`."""
        return read_targets(self.workspace.home.targets)


class Action(Protocol):
    """A kind of action."""

    repeats: bool
    """Whether an attempt that was cut off may run again: the receiver can tell a repetition by the key."""

    async def check(self, stated: Mapping[str, Any], known: Known, site: Site, tenant: str) -> Mapping[str, Any]:
        """Return the parts to keep.

        Raises:
            HeadwaterError: a part is missing or unknown; nothing could run so.
        """

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:
        """Return the scopes that the owner must have."""

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:
        """Whether this process can run it: a program is registered on one home of several."""

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        """Do it, and return the result in a few words. Raises a `HeadwaterError` for a failure; a transient one is tried again."""

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:
        """Return the kinds and subjects of facts that it is known to cause, to find cycles."""

    def describe(self, parts: Mapping[str, Any]) -> str:
        """Return the action in words, without a predicate."""
