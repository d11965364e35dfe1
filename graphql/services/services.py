"""The interfaces of the services behind the schema, and the object with the services for the resolvers of one request.

`backend/app.py` fills `Services` for each caller. The methods accept the tenant of the credential. A service may be missing, as on the
command line. Resolvers call `available`, which then refuses the query.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headwater.errors import UnsupportedError
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.graphql.services.culprits import CulpritService
from headwater.graphql.services.policies import ErasureService, PolicyService
from headwater.graphql.services.replays import RecaptureService, RegistrationService, ReplayService
from headwater.graphql.services.triggers import TriggerService, WorkflowService

if TYPE_CHECKING:
    from datetime import datetime

    from headwater.graphql.administration import KeyWanted, NamedKey, NewKey, People, Tenant
    from headwater.graphql.audit_log import AuditPage, AuditQuestion, AuditVerification, DatasetReaders


_S = TypeVar("_S")


class VersionService(Protocol):
    """Merges and drops blocks of enrolled datasets of the home. The answers are JSON, as `graphql.version_changes` reads them."""

    async def enrol(self, tenant: str, dataset: str) -> Mapping[str, Any]: ...

    async def withdraw(self, tenant: str, dataset: str) -> None: ...

    async def collect(self, tenant: str, dataset: str, *, keep: int, apply: bool, trash_days: float) -> Mapping[str, Any]: ...

    async def compact(self, tenant: str, dataset: str, *, apply: bool, trash_days: float) -> Mapping[str, Any]: ...

    async def restore(self, tenant: str, identifier: str) -> str:
        """Return the folder whose files are back."""


SavedViewDocument = Mapping[str, Any]
"""A saved view: id, name, location, shared, mine, owner, created_at and changed_at."""


class SavedViewService(Protocol):
    """Stores views of the page for one caller."""

    async def list(self, tenant: str) -> Sequence[SavedViewDocument]:
        """Return the caller's views by name, and then the views that others share."""

    async def save(self, tenant: str, name: str, location: str, *, shared: bool, replace: bool = False) -> SavedViewDocument:
        """Save a view. `replace` allows it to take the place of another view of the caller with this name."""

    async def change(self, tenant: str, identifier: str, *, name: str | None, shared: bool | None) -> SavedViewDocument: ...

    async def remove(self, tenant: str, identifier: str) -> SavedViewDocument: ...


class TraceJobView(Protocol):
    """A trace that runs as a job. Times are ISO 8601 in UTC; `state` is a value of `TraceJobState`."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def request(self) -> TraceRequest: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def progress(self) -> Sequence[str]: ...
    @property
    def error(self) -> str | None: ...
    @property
    def answer(self) -> TraceAnswer | None: ...


class TraceJobService(Protocol):
    """Runs large traces as jobs. Tenant and caller come from the credential."""

    async def start(self, tenant: str, request: TraceRequest) -> TraceJobView:
        """Queue a job."""

    async def get(self, tenant: str, identifier: str) -> TraceJobView | None:
        """Return the caller's job, or None."""

    async def cancel(self, tenant: str, identifier: str) -> TraceJobView | None:
        """End a job."""


class DeclarationService(Protocol):
    """Accepts declarations, and raises an error for invalid ones."""

    async def declare(self, tenant: str, document: Mapping[str, Any]) -> int:
        """Accept a document. Returns its offset in the log, once it is durable."""


class AdminService(Protocol):
    """Administration for one caller: of one tenant, or of all for the owner of the home.

    All methods may block, and raise `HeadwaterError`.
    """

    def keys(self) -> Sequence[NamedKey]:
        """Return present and past keys, latest first."""

    def tenants(self) -> Sequence[Tenant]:
        """Return the tenants by name."""

    def people(self) -> People:
        """Return the grants of the caller's tenant."""

    def create(self, wanted: KeyWanted) -> NewKey:
        """Create a key."""

    def rotate(self, identifier: str, overlap_hours: float, days: float | None) -> NewKey:
        """Replace the key with an id."""

    def revoke(self, identifier: str) -> NamedKey:
        """Revoke the key with an id."""


class AuditReader(Protocol):
    """Reads the audit log for one caller: the lines of one tenant, or of all for the owner of the home."""

    async def entries(self, asked: AuditQuestion) -> AuditPage:
        """Return the latest matching entries."""

    async def readers(self, dataset: str, since: datetime, until: datetime | None) -> DatasetReaders:
        """Return the callers who got records of a dataset in a window."""

    async def verify(self) -> AuditVerification:
        """Verify the links of the latest files.

        Raises:
            UnavailableError: another verification is running.
        """


class News(Protocol):
    """Announces writes to the graph."""

    def runs(self) -> AsyncGenerator[list[str], None]:
        """Yield ids of written runs of any tenant. The first yield is empty, once all later writes will be announced."""


@dataclass(kw_only=True)
class Services:
    """The services for one caller. None means that the service is missing."""

    replays: ReplayService | None = None
    recaptures: RecaptureService | None = None
    erasures: ErasureService | None = None
    culprits: CulpritService | None = None
    trace_jobs: TraceJobService | None = None
    registrations: RegistrationService | None = None
    triggers: TriggerService | None = None
    saved_views: SavedViewService | None = None
    workflows: WorkflowService | None = None
    policies: PolicyService | None = None
    versions: VersionService | None = None
    declarations: DeclarationService | None = None
    administration: AdminService | None = None
    audit_log: AuditReader | None = None
    news: News | None = None


def available(service: _S | None, name: str, hint: str = "Start the service with: headwater serve") -> _S:
    """Return a service.

    Raises:
        UnsupportedError: the service is missing. `name` is the subject of the message, in the plural.
    """
    if service is None:
        raise UnsupportedError(f"{name} are not available here.", hint=hint)
    return service
