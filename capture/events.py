"""OpenLineage events of a session: of the pipeline, and of the runs of its actors.

The custom facet `headwater_actor` of a job contains what standard facets cannot: the actor's type, declared types, its containers, and
the actors that it feeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from headwater import __version__
from headwater.spark_listener.lineage.facets import ACTOR, EVENT_SCHEMA, Facet, Ledger, facet, facets
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.redact import redact

if TYPE_CHECKING:
    from headwater.capture.actor import Actor
    from headwater.capture.data import Data

DEFAULT_NAMESPACE = "default"
_LONGEST_MESSAGE = 10_000
_PRODUCER = f"headwater:/{__version__}/capture"


def pipeline_event(kind: str, at: str, run: RunName, ledger: Ledger, parent: RunName | None, error: str | None) -> dict[str, Any]:
    above = _parent(parent) if parent else None
    return _event(kind, at, run, "APPLICATION", {**facets(parent=above), "headwater_capture": ledger.facet(), **_error(error)}, {})


def actor_event(
    kind: str,
    at: str,
    actor: Actor,
    pipeline: RunName,
    ledger: Ledger,
    types: Sequence[Mapping[str, Any]],
    inputs: Iterable[Data],
    outputs: Iterable[Data],
    error: str | None = None,
) -> dict[str, Any]:
    stated = facet(
        ACTOR, type=actor.type, types=list(types), containment=_containment(actor),
        links=[[_job(actor), _job(other)] for other in actor.links],
    )  # fmt: skip
    run_facets = {"parent": _parent(pipeline), "headwater_capture": ledger.facet(), **_error(error)}
    made = _event(kind, at, actor.run, "ACTOR", run_facets, {ACTOR: stated})
    made["inputs"], made["outputs"] = ([_named(data) for data in listed] for listed in (inputs, outputs))
    return made


def container_id(actor: Actor) -> str:
    """Return the id of an actor that contains others. Sessions with the same name in several namespaces have separate ids."""
    namespace = "" if actor.run.namespace == DEFAULT_NAMESPACE else f"{quote(actor.run.namespace, safe='')}:"
    return f"actor:{quote(actor.type, safe='')}:{namespace}{quote(actor.run.job, safe='')}"


def _containment(actor: Actor) -> list[list[str]]:
    """Return pairs of container and child for an actor, from the nearest container outward."""
    found: dict[tuple[str, str], None] = {}
    waiting = [(parent, _job(actor)) for parent in actor.parents]
    while waiting:
        parent, child = waiting.pop()
        if (container_id(parent), child) not in found:
            found[container_id(parent), child] = None
            waiting += [(above, container_id(parent)) for above in parent.parents]
    return [list(pair) for pair in found]


def _job(actor: Actor) -> str:
    return f"job:{quote(actor.run.namespace, safe='')}:{quote(actor.run.job, safe='')}"


def _event(
    kind: str, at: str, run: RunName, type_: str, run_facets: Mapping[str, Facet], job_facets: Mapping[str, Facet]
) -> dict[str, Any]:
    kinds = facet("jobType", processingType="BATCH", integration="HEADWATER", jobType=type_)
    return {
        "eventType": kind,
        "eventTime": at,
        "run": {"runId": run.run_id, "facets": dict(run_facets)},
        "job": {"namespace": run.namespace, "name": run.job, "facets": {"jobType": kinds, **job_facets}},
        "inputs": [],
        "outputs": [],
        "producer": _PRODUCER,
        "schemaURL": EVENT_SCHEMA,
    }


def _named(data: Data) -> dict[str, Any]:
    return {"namespace": data.namespace, "name": data.name, "facets": {}}


def _parent(run: RunName) -> Facet:
    return {**facet("parent", run={"runId": run.run_id}, job={"namespace": run.namespace, "name": run.job}), "_producer": _PRODUCER}


def _error(message: str | None) -> dict[str, Facet]:
    if message is None:
        return {}
    return {"errorMessage": facet("errorMessage", message=redact(message)[:_LONGEST_MESSAGE], programmingLanguage="PYTHON")}
