"""The facets that OpenLineage has no words for: what was captured of a run, how its program was started, what Spark ran for it.

For the service, which shows the ledger and replays from the invocation. Custom facets carry the prefix `headwater_`, as the
specification asks, and say who produced them, as all facets here do.
"""

from __future__ import annotations

from typing import Any, TypeVar

import attr
from openlineage.client.generated.base import BaseFacet, InputDatasetFacet, RunFacet

from headwater import __version__

PRODUCER = f"urn:headwater:{__version__}"
CAPTURE = "headwater_capture"
INVOCATION = "headwater_invocation"
STAGES = "headwater_stages"
FIELD_ACCESS = "headwater_fieldAccess"

_Facet = TypeVar("_Facet", bound=BaseFacet)


@attr.define
class CaptureRunFacet(RunFacet):
    """The ledger of a run. `status`: `complete`, `partial`, `refused` (coarse, see `problems`) or `off` (coarse by the mode).

    `expected` segments were written by tasks that succeeded, `arrived` ones are there. `dropped` counts what the spool had no room for
    since the last event that got through. `cost`: `driver_ms` of ours on the driver, `bytes` and `rows` of associations.
    """

    status: str
    mode: str
    problems: list[dict[str, Any]] = attr.field(factory=list)
    capture: str | None = None
    expected: int | None = None
    arrived: int | None = None
    dropped: dict[str, int] | None = None
    cost: dict[str, float] | None = None

    @staticmethod
    def _get_schema() -> str:
        return "urn:headwater:facet:capture:1"


@attr.define
class InvocationRunFacet(RunFacet):
    """How the program was started, without its secrets. `argv[0]` is the script as it was named; `environment` is by allow list."""

    argv: list[str]
    working_directory: str
    interpreter: str
    mode: str
    script: str | None = None
    script_sha256: str | None = None
    environment: dict[str, str] = attr.field(factory=dict)

    @staticmethod
    def _get_schema() -> str:
        return "urn:headwater:facet:invocation:1"


@attr.define
class StagesRunFacet(RunFacet):
    """The stages that Spark ran for a query, and their task attempts.

    `stages` are `{"stage", "attempt", "call", "tasks", "failed", "parents", "startedAt", "endedAt", "error", "shown"}`: `tasks` is how many
    there were, `failed` how many attempts of theirs failed, `parents` the stages whose output it read, `shown` the attempts that are known
    one by one, `{"task", "partition", "attempt", "state", "startedAt", "endedAt"}`. `leftOut` counts further stages.
    """

    stages: list[dict[str, Any]]
    leftOut: int = 0  # noqa: N815  # the name on the wire

    @staticmethod
    def _get_schema() -> str:
        return "urn:headwater:facet:stages:1"


@attr.define
class FieldAccessInputDatasetFacet(InputDatasetFacet):
    """The columns of an input that a query reads which writes nothing: `fields` are `{"name", "ways": [FILTER, IDENTITY, …]}`."""

    fields: list[dict[str, Any]]

    @staticmethod
    def _get_schema() -> str:
        return "urn:headwater:facet:field-access:1"


def facet(kind: type[_Facet], **fields: Any) -> _Facet:
    """A facet that names its producer: the package's own default is global, and setting it would change the user's events too."""
    return kind(**fields, producer=PRODUCER)
