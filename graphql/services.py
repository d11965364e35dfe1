"""The services behind the schema: the interface of each, and the object that gives them to the resolvers of one request.

`backend/app.py` fills `Services` for each caller. The methods accept the tenant of the credential. A service may be missing, as on the
command line: a resolver takes it by `available`, which refuses the question then.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headwater.errors import UnsupportedError
from headwater.graph.trace.answer import TraceAnswer, TraceRequest

if TYPE_CHECKING:
    from headwater.graphql.administration import KeyWanted, NamedKey, NewKey, People, Tenant
    from headwater.graphql.audit_log import AuditPage, AuditQuestion, AuditVerification

_S = TypeVar("_S")


class StepView(Protocol):
    """One program of a replay."""

    @property
    def job(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def seconds(self) -> float | None: ...


class ShownRowView(Protocol):
    """A record at a stop, with its place."""

    @property
    def file(self) -> str: ...
    @property
    def row(self) -> int: ...
    @property
    def values(self) -> Mapping[str, Any]: ...


class ShownDatasetView(Protocol):
    """The first rows of a dataset at a stop."""

    @property
    def dataset(self) -> str: ...
    @property
    def rows(self) -> Sequence[ShownRowView]: ...
    @property
    def note(self) -> str | None: ...


class StopView(Protocol):
    """A stop before a program: its inputs, and the outputs of the program before."""

    @property
    def job(self) -> str: ...
    @property
    def inputs(self) -> Sequence[ShownDatasetView]: ...
    @property
    def outputs(self) -> Sequence[ShownDatasetView]: ...


class CommitView(Protocol):
    """A commit of a replay. Times are ISO 8601 in UTC."""

    @property
    def at(self) -> str: ...
    @property
    def kept_until(self) -> str: ...
    @property
    def folders(self) -> Sequence[CommittedFolderView]: ...


class CommittedFolderView(Protocol):
    """A folder that a commit replaced. `old` holds the old data while `state` is `done`."""

    @property
    def dataset(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def old(self) -> str: ...


class DryRunStepView(Protocol):
    """A program that would run."""

    @property
    def job(self) -> str: ...
    @property
    def script(self) -> str: ...
    @property
    def writes(self) -> Sequence[str]: ...
    @property
    def seconds(self) -> float | None: ...


class DryRunView(Protocol):
    """The plan of a replay. `excluded`, `kept` and `edited` are numbers of records."""

    @property
    def kind(self) -> str: ...
    @property
    def output(self) -> str: ...
    @property
    def steps(self) -> Sequence[DryRunStepView]: ...
    @property
    def excluded(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def edited(self) -> int: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def disk_bytes(self) -> int: ...
    @property
    def disk_free(self) -> int: ...
    @property
    def unknown_sizes(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...


class DifferenceView(Protocol):
    """A row that the replay changed; None on the side that has no such row."""

    @property
    def dataset(self) -> str: ...
    @property
    def before(self) -> Mapping[str, Any] | None: ...
    @property
    def after(self) -> Mapping[str, Any] | None: ...
    @property
    def columns(self) -> Sequence[str]: ...


class ReplayView(Protocol):
    """A replay. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def output(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def shadow(self) -> str: ...
    @property
    def error(self) -> str | None: ...
    @property
    def steps(self) -> Sequence[StepView]: ...
    @property
    def differences(self) -> Sequence[DifferenceView]: ...
    @property
    def differing(self) -> int: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def commit(self) -> CommitView | None: ...
    @property
    def stop(self) -> StopView | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAnswer:
    """An answer at a stop: `continue`, `stop`, `drop` or `edit`. `values` are new values of the record by column, as text."""

    action: str
    file: str = ""
    row: int = -1
    values: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """A request for a replay. `rows` are (file, 0-based row). `edits` are new values by column, as text; None is NULL.

    `seconds` and `disk_bytes` are limits; None: there is no limit.
    """

    kind: str = "exclusive"
    dataset: str | None = None
    where: str | None = None
    rows: Sequence[tuple[str, int]] = ()
    output: str | None = None
    edits: Mapping[str, str | None] = field(default_factory=dict)
    seconds: float | None = None
    disk_bytes: int | None = None


class ReplayService(Protocol):
    """Runs pipelines again with other records or programs. The tenant comes from the credential."""

    async def start(self, tenant: str, order: ReplayOrder) -> str:
        """Queue a replay and return its id at once."""

    async def dry_run(self, tenant: str, order: ReplayOrder) -> DryRunView:
        """Return what the replay would run. Nothing runs and nothing is kept."""

    async def get(self, tenant: str, identifier: str) -> ReplayView | None:
        """Return a replay, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[ReplayView]:
        """The latest replays, newest first."""

    async def remove(self, tenant: str, identifier: str) -> ReplayView | None:
        """Delete a replay that has ended, and return it, or None."""

    async def answer(self, tenant: str, identifier: str, answer: StopAnswer) -> ReplayView:
        """Answer the stop at which a replay of the kind `step` waits."""

    async def cancel(self, tenant: str, identifier: str) -> ReplayView:
        """Let a waiting or running replay end."""

    async def approve(self, tenant: str, identifier: str) -> ReplayView:
        """Approve the commit of a replay, as a second person."""

    async def commit(self, tenant: str, identifier: str, keep_days: float) -> ReplayView:
        """Put the outputs of a complete replay in the place of the real data, and keep the old data for some days."""

    async def undo(self, tenant: str, identifier: str) -> ReplayView:
        """Put the old data of a committed replay back."""


class RecaptureView(Protocol):
    """A recapture. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`."""

    @property
    def id(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def outputs(self) -> Sequence[str]: ...
    @property
    def files(self) -> int: ...
    @property
    def left(self) -> Mapping[str, str]: ...


class RecaptureService(Protocol):
    """Runs programs again for the lineage of their records. The tenant comes from the credential."""

    async def start(self, tenant: str, dataset: str) -> str:
        """Queue a recapture and return its id at once."""

    async def get(self, tenant: str, identifier: str) -> RecaptureView | None:
        """Return a recapture, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[RecaptureView]:
        """The latest, newest first."""

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """The datasets for which the caller may start a recapture."""


TriggerDocument = Mapping[str, Any]
"""A trigger, or a cause with its execution, as JSON (`backend.triggers.document`)."""


class TriggerService(Protocol):
    """Knows and changes the triggers of a tenant. Times are ISO 8601. The caller becomes the owner of what it creates or resumes."""

    async def list(self, tenant: str) -> Sequence[TriggerDocument]:
        """The triggers by name."""

    async def get(self, tenant: str, name: str) -> TriggerDocument | None:
        """Return a trigger by name or id, or None."""

    async def history(self, tenant: str, name: str, *, first: int, before: str | None) -> Sequence[TriggerDocument]:
        """Its causes, the latest first."""

    async def create(self, tenant: str, definition: Mapping[str, Any]) -> TriggerDocument:
        """Check and store a trigger."""

    async def fire(self, tenant: str, name: str, *, key: str | None) -> TriggerDocument:
        """Fire it by hand, and return the cause."""

    async def pause(self, tenant: str, name: str, reason: str | None) -> TriggerDocument: ...

    async def resume(self, tenant: str, name: str) -> TriggerDocument: ...

    async def remove(self, tenant: str, name: str) -> TriggerDocument: ...

    async def test(
        self, tenant: str, *, since: str, until: str | None, name: str | None, definition: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """`causes`, `entries` and `notes` of a period."""


WorkflowDocument = Mapping[str, Any]
"""A workflow, a run or a block as JSON (`backend.workflows.document`)."""


class WorkflowService(Protocol):
    """Knows and runs the workflows of a home. Times are ISO 8601."""

    async def list(self, tenant: str) -> Sequence[WorkflowDocument]:
        """The workflows by name."""

    async def get(self, tenant: str, name: str) -> WorkflowDocument | None:
        """Return a workflow, or None."""

    async def task_runs(self, tenant: str, name: str, first: int) -> Sequence[WorkflowDocument]:
        """The latest runs of its tasks, newest first."""

    async def blocks(self, tenant: str, name: str, channel: str, first: int) -> Sequence[WorkflowDocument]:
        """The latest blocks of a channel, newest first."""

    async def run(self, tenant: str, name: str, task: str | None) -> WorkflowDocument:
        """Begin a run of a workflow or of one of its tasks, and return the workflow."""


@dataclass(frozen=True, slots=True)
class RegistrationView:
    """A registered program. `script` is the name of its file; `at` is ISO 8601 in UTC."""

    id: str
    namespace: str
    job: str
    script: str
    sha256: str
    by_operator: bool
    is_unchanged: bool
    at: str


class RegistrationService(Protocol):
    """Knows the programs of a home."""

    async def programs(self, tenant: str) -> Sequence[RegistrationView]:
        """All of a tenant, by job."""


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
    """Follows large traces. Tenant and caller come from the credential."""

    async def start(self, tenant: str, request: TraceRequest) -> TraceJobView:
        """Queue a job."""

    async def get(self, tenant: str, identifier: str) -> TraceJobView | None:
        """Return the caller's job, or None."""

    async def cancel(self, tenant: str, identifier: str) -> TraceJobView | None:
        """End a job."""


class DeclarationService(Protocol):
    """Accepts declarations, and raises its refusals."""

    async def declare(self, tenant: str, document: Mapping[str, Any]) -> int:
        """Accept a document. Return its offset in the log, once it is durable."""


class AdminService(Protocol):
    """Administers for one caller: one tenant, or all for the owner of the home. All methods may block, and raise `HeadwaterError`."""

    def keys(self) -> Sequence[NamedKey]:
        """Return present and past keys, latest first."""

    def tenants(self) -> Sequence[Tenant]:
        """By name."""

    def people(self) -> People:
        """Return the grants of the caller's tenant."""

    def create(self, wanted: KeyWanted) -> NewKey:
        """Make a key."""

    def rotate(self, identifier: str, overlap_hours: float, days: float | None) -> NewKey:
        """Replace the key with an id."""

    def revoke(self, identifier: str) -> NamedKey:
        """Revoke the key with an id."""


class AuditReader(Protocol):
    """Reads the audit log for one caller: the lines of one tenant, or of all for the owner of the home."""

    async def entries(self, asked: AuditQuestion) -> AuditPage:
        """Return the latest matching entries."""

    async def verify(self) -> AuditVerification:
        """Follow the links of the latest files.

        Raises:
            UnavailableError: somebody else has it done just now.
        """


class News(Protocol):
    """Announces writes to the graph."""

    def runs(self) -> AsyncGenerator[list[str], None]:
        """First nothing; then ids of runs that were written, of any tenant."""


@dataclass(kw_only=True)
class Services:
    """The services for one caller. None: there is no such service here."""

    replays: ReplayService | None = None
    recaptures: RecaptureService | None = None
    trace_jobs: TraceJobService | None = None
    registrations: RegistrationService | None = None
    triggers: TriggerService | None = None
    workflows: WorkflowService | None = None
    declarations: DeclarationService | None = None
    administration: AdminService | None = None
    audit_log: AuditReader | None = None
    news: News | None = None


def available(service: _S | None, name: str, hint: str = "Start the service with: headwater serve") -> _S:
    """Return a service.

    Raises:
        UnsupportedError: it is missing. `name` is the subject of the message, in the plural.
    """
    if service is None:
        raise UnsupportedError(f"{name} are not available here.", hint=hint)
    return service
