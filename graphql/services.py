"""The interfaces of the services behind the schema, and the object with the services for the resolvers of one request.

`backend/app.py` fills `Services` for each caller. The methods accept the tenant of the credential. A service may be missing, as on the
command line. Resolvers call `available`, which then refuses the query.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headwater.errors import UnsupportedError
from headwater.graph.trace.answer import TraceAnswer, TraceRequest

if TYPE_CHECKING:
    from headwater.graph.policies import Deviation, Report, TagFlow
    from headwater.graphql.administration import KeyWanted, NamedKey, NewKey, People, Tenant
    from headwater.graphql.audit_log import AuditPage, AuditQuestion, AuditVerification

_S = TypeVar("_S")


class StepView(Protocol):
    """A program that a replay runs."""

    @property
    def job(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def seconds(self) -> float | None: ...


class RecordView(Protocol):
    """A record with its file and its row, from 0: one at a stop of a replay, or one to blame."""

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
    def rows(self) -> Sequence[RecordView]: ...
    @property
    def note(self) -> str | None: ...


class StopView(Protocol):
    """A stop before a program: the program's inputs, and the outputs of the previous program."""

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
    """A folder that a commit replaced. `old` contains the old data while `state` is `done`."""

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
    def starts(self) -> Sequence[str]: ...
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
    """A row that the replay changed. One side is None if the row exists on the other side only."""

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
    def started_by(self) -> str | None: ...
    @property
    def exclude(self) -> Mapping[str, Sequence[int]]: ...
    @property
    def keep(self) -> Mapping[str, Sequence[int]]: ...
    @property
    def edits(self) -> Mapping[str, Mapping[str, Mapping[str, str | None]]]: ...
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

    `seconds` and `disk_bytes` are limits; None means no limit.
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
        """Queue a replay, and return its id immediately."""

    async def dry_run(self, tenant: str, order: ReplayOrder) -> DryRunView:
        """Return the plan of a replay. Nothing is run or stored."""

    async def get(self, tenant: str, identifier: str) -> ReplayView | None:
        """Return a replay, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[ReplayView]:
        """Return the latest replays, newest first."""

    async def remove(self, tenant: str, identifier: str) -> ReplayView | None:
        """Delete a replay that has ended, and return it, or None."""

    async def answer(self, tenant: str, identifier: str, answer: StopAnswer) -> ReplayView:
        """Answer the stop at which a replay of the kind `step` waits."""

    async def cancel(self, tenant: str, identifier: str) -> ReplayView:
        """Ask a waiting or running replay to end."""

    async def approve(self, tenant: str, identifier: str) -> ReplayView:
        """Approve the commit of a replay, as a second person."""

    async def commit(self, tenant: str, identifier: str, keep_days: float) -> ReplayView:
        """Replace the real data with the outputs of a complete replay. The old data is stored for some days."""

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
        """Queue a recapture, and return its id immediately."""

    async def get(self, tenant: str, identifier: str) -> RecaptureView | None:
        """Return a recapture, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[RecaptureView]:
        """Return the latest recaptures, newest first."""

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """Return the datasets for which the caller may start a recapture."""


class CulpritSearchView(Protocol):
    """A search for culprits. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`, `kind` is `why` or `blame`."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def trials(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def step(self) -> str | None: ...
    @property
    def function(self) -> str | None: ...
    @property
    def wrong_rows(self) -> int | None: ...
    @property
    def records(self) -> Sequence[RecordView]: ...
    @property
    def count(self) -> int: ...
    @property
    def is_minimal(self) -> bool: ...
    @property
    def problem(self) -> str | None: ...
    @property
    def origins(self) -> Sequence[RecordView]: ...
    @property
    def notes(self) -> Sequence[str]: ...


class CulpritService(Protocol):
    """Searches for the records behind a failure or a wrong result. The tenant comes from the credential."""

    async def start_why(self, tenant: str, run: str | None, seconds: float) -> str:
        """Queue a search for the record at which a run failed, and return its id immediately. Without `run`, the last failed run."""

    async def start_blame(self, tenant: str, dataset: str, assertion: str | None, where: str | None, seconds: float) -> str:
        """Queue a search for the records that make rows of a dataset wrong, and return its id."""

    async def get(self, tenant: str, identifier: str) -> CulpritSearchView | None:
        """Return a search, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[CulpritSearchView]:
        """Return the latest searches, newest first."""

    async def cancel(self, tenant: str, identifier: str) -> CulpritSearchView:
        """Ask a waiting or running search to end."""


class VersionService(Protocol):
    """Merges and drops blocks of enrolled datasets of the home. The answers are JSON, as `graphql.version_changes` reads them."""

    async def enrol(self, tenant: str, dataset: str) -> Mapping[str, Any]: ...

    async def withdraw(self, tenant: str, dataset: str) -> None: ...

    async def collect(self, tenant: str, dataset: str, *, keep: int, apply: bool, trash_days: float) -> Mapping[str, Any]: ...

    async def compact(self, tenant: str, dataset: str, *, apply: bool, trash_days: float) -> Mapping[str, Any]: ...

    async def restore(self, tenant: str, identifier: str) -> str:
        """Return the folder whose files are back."""


TriggerDocument = Mapping[str, Any]
"""A trigger, or a cause with its execution, as JSON (`backend.triggers.document`)."""


class TriggerService(Protocol):
    """Reads and changes the triggers of a tenant. Times are ISO 8601. The caller owns the triggers that it creates or resumes."""

    async def list(self, tenant: str) -> Sequence[TriggerDocument]:
        """Return the triggers by name."""

    async def get(self, tenant: str, name: str) -> TriggerDocument | None:
        """Return a trigger by name or id, or None."""

    async def history(self, tenant: str, name: str, *, first: int, before: str | None) -> Sequence[TriggerDocument]:
        """Return the causes of a trigger, latest first."""

    async def create(self, tenant: str, definition: Mapping[str, Any]) -> TriggerDocument:
        """Check and store a trigger."""

    async def fire(self, tenant: str, name: str, *, key: str | None) -> TriggerDocument:
        """Fire a trigger by hand, and return the cause."""

    async def pause(self, tenant: str, name: str, reason: str | None) -> TriggerDocument: ...

    async def resume(self, tenant: str, name: str) -> TriggerDocument: ...

    async def remove(self, tenant: str, name: str) -> TriggerDocument: ...

    async def targets(self) -> Mapping[str, str]:
        """Return the targets of notifications by name, each with its kind: `webhook` or `mail`."""

    async def test(
        self, tenant: str, *, since: str, until: str | None, name: str | None, definition: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Return the `causes`, `entries` and `notes` of a period of the past."""


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


WorkflowDocument = Mapping[str, Any]
"""A workflow, a run or a block as JSON (`backend.workflows.document`)."""


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
    async def current(self, tenant: str) -> Sequence[PolicyVersionView]: ...
    async def deviations(self, tenant: str, policy: str | None, states: Collection[str], most: int) -> Sequence[FiledDeviationView]: ...
    async def apply(self, tenant: str, text: str, *, allows_unknown: bool = False) -> tuple[PolicyVersionView, Report]: ...
    async def remove(self, tenant: str, name: str) -> None: ...
    async def accept(self, tenant: str, identifier: str, *, reason: str, days: float) -> FiledDeviationView: ...


class WorkflowService(Protocol):
    """Reads and runs the workflows of a home. Times are ISO 8601."""

    async def list(self, tenant: str) -> Sequence[WorkflowDocument]:
        """Return the workflows by name."""

    async def get(self, tenant: str, name: str) -> WorkflowDocument | None:
        """Return a workflow, or None."""

    async def task_runs(self, tenant: str, name: str, first: int) -> Sequence[WorkflowDocument]:
        """Return the latest runs of a workflow's tasks, newest first."""

    async def blocks(self, tenant: str, name: str, channel: str, first: int) -> Sequence[WorkflowDocument]:
        """Return the latest blocks of a channel, newest first."""

    async def run(self, tenant: str, name: str, task: str | None) -> WorkflowDocument:
        """Start a run of a workflow or of one of its tasks, and return the workflow."""


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
    """Reads the registered programs of a home."""

    async def programs(self, tenant: str) -> Sequence[RegistrationView]:
        """Return all programs of a tenant, by job."""


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
