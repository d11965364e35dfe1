"""The interfaces of policies and erasures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import timedelta

    from headwater.graph.policies import Deviation, Report, TagFlow
    from headwater.graph.retention import RetentionAnswer


@dataclass(frozen=True, slots=True)
class ErasureView:
    """An erasure of a home. Times are ISO 8601 in UTC. `certificate` is None while the erasure is not over."""

    id: str
    state: str
    source: str
    records: int
    by: str
    reason: str | None
    began: str
    ended: str | None
    certificate: Mapping[str, Any] | None


class ErasureService(Protocol):
    """Reads the erasures of a home. The tenant comes from the credential."""

    async def list(self, tenant: str, first: int) -> Sequence[ErasureView]:
        """Return the latest erasures, newest first."""


class PolicyVersionView(Protocol):
    """A version of a policy. `at` is in seconds since 1970."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def author(self) -> str: ...
    @property
    def at(self) -> float: ...


class FiledDeviationView(Protocol):
    """A deviation that a check has filed. Times are in seconds since 1970."""

    @property
    def policy(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def deviation(self) -> Deviation: ...
    @property
    def state(self) -> str: ...
    @property
    def opened(self) -> float: ...
    @property
    def fixed(self) -> float | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def accepted_by(self) -> str | None: ...
    @property
    def accepted_until(self) -> float | None: ...


class PolicyService(Protocol):
    """Checks, applies and ends policies for one caller, lists the deviations, and carries tags along the lineage."""

    def name_of(self, text: str) -> str: ...
    async def check(self, tenant: str, text: str, *, with_past: bool = False) -> Report: ...
    async def infer(self, tenant: str, name: str) -> Mapping[str, Any]: ...
    async def carried_tags(self, tenant: str, rules: str | None) -> TagFlow: ...
    async def expiring(self, tenant: str, dataset: str | None, within: timedelta) -> RetentionAnswer: ...
    async def current(self, tenant: str) -> Sequence[PolicyVersionView]: ...
    async def deviations(self, tenant: str, policy: str | None, states: Collection[str], most: int) -> Sequence[FiledDeviationView]: ...
    async def apply(self, tenant: str, text: str, *, allows_unknown: bool = False) -> tuple[PolicyVersionView, Report]: ...
    async def remove(self, tenant: str, name: str) -> None: ...
    async def accept(self, tenant: str, identifier: str, *, reason: str, days: float) -> FiledDeviationView: ...
