"""Projects the facet `headwater_actor` of a job: an actor's type, declared types, its containers, and the actors that it feeds.

Untrusted programs send the facet. For this reason it may state only a limited number of types, containers of this job, and links that
begin or end at the job. A malformed facet is refused with its event. `headwater store check` reports violations of the rules of
containment, as for all events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.projection.statement import Statement
from headwater.errors import InvalidEventError, InvalidInputError
from headwater.graph.model import EdgeKind, NodeKind, kind_of, node_id, parse_id
from headwater.graph.model.declaration import ACTOR_TYPE, Declaration

ACTOR = "headwater_actor"
_MOST = 1_000
_LONGEST_TYPE = 100
_ACTOR_PARTS = 2  # number of parts of an actor's id: type and name
_BELOW_USERS = -1  # a user's declaration of a type has precedence over programs
_PATH = f"$.job.facets.{ACTOR}"


def state_actor(statement: Statement, job: str, facet: Mapping[str, Any] | None, pipeline: str | None) -> bool:
    """Add the facts about an actor's job to the statement. Returns whether another actor contains the job.

    The outermost container is then within the pipeline.

    Raises:
        InvalidEventError: the facet is malformed.
    """
    if facet is None:
        return False
    statement.describe(job, {ACTOR_TYPE: _type_name(facet.get("type"))})
    _state_types(statement, facet)
    containment = _containment(job, facet)
    _state_containment(statement, job, containment, pipeline)
    for path, source, destination in _pairs(facet, "links"):
        if job not in (source, destination):
            raise _refused(path, "is no link of this job", "One of its ends is the job of the event.")
        statement.link(source, destination, EdgeKind.LINKS, {"by": job})
    return any(child == job for _, child in containment)


def _state_types(statement: Statement, facet: Mapping[str, Any]) -> None:
    types = _list(facet, "types")
    try:
        declared = Declaration.from_json({"declared": "-", "types": types}).types
    except InvalidInputError as error:
        raise InvalidEventError(error.message, field=_PATH + (error.field or "$").removeprefix("$"), hint=error.hint) from error
    for each in declared:
        about = {"axis": each.axis.value, "within": list(each.within), "holds": list(each.holds), "after": list(each.after)}
        statement.describe(node_id(NodeKind.TYPE, each.name), about, name=each.name, ranks=dict.fromkeys(about, _BELOW_USERS))


def _containment(job: str, facet: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for path, container, child in _pairs(facet, "containment"):
        if kind_of(container) is not NodeKind.ACTOR or (child != job and kind_of(child) is not NodeKind.ACTOR):
            raise _refused(path, "is no containment of this job", "Name actors of declared types that contain the job, or each other.")
        found.append((container, child))
    return found


def _state_containment(statement: Statement, job: str, containment: Sequence[tuple[str, str]], pipeline: str | None) -> None:
    for container, child in containment:
        for node in {container, child} - {job}:
            statement.describe(node, {}, name=":".join(parse_id(node)[1][1:]))
        statement.contain(container, child)
    for container in sorted({container for container, _ in containment}):
        if (own := _own_job(container, job, pipeline)) is not None:
            statement.contain(container, own)
        if pipeline is not None and all(child != container for _, child in containment):
            statement.contain(pipeline, container)


def _own_job(container: str, job: str, pipeline: str | None) -> str | None:
    """Return the job of a container that is an actor of the same session, because its runs are the container's own work.

    The name of such an actor begins with its pipeline, like the name of the event's job.
    """
    (_, (namespace, *_)), (*_, name) = parse_id(job), parse_id(container)[1]
    if pipeline is None or not name.startswith(f"{parse_id(pipeline)[1][-1]}."):
        return None
    own = node_id(NodeKind.JOB, namespace, name)
    return own if own != job else None


def _type_name(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_TYPE:
        raise _refused(f"{_PATH}.type", f"is {str(value)[:80]!r}", f"It is a name of 1 to {_LONGEST_TYPE} characters.")
    return value


def _list(facet: Mapping[str, Any], name: str) -> list[Any]:
    found = facet.get(name) or []
    if not isinstance(found, list) or len(found) > _MOST:
        raise _refused(f"{_PATH}.{name}", f"is no list of at most {_MOST:,}", "Write it as [[…, …], …].")
    return found


def _pairs(facet: Mapping[str, Any], name: str) -> list[tuple[str, str, str]]:
    found = []
    for index, pair in enumerate(_list(facet, name)):
        path = f"{_PATH}.{name}[{index}]"
        if not isinstance(pair, list) or [type(each) for each in pair] != [str, str]:
            raise _refused(path, "is no pair of ids", 'Write it as ["actor:stage:one", "job:default:two"].')
        ids = []
        for each in pair:
            try:
                kind, parts = parse_id(each)
            except InvalidInputError as error:
                raise InvalidEventError(error.message, field=path, hint=error.hint) from error
            if kind not in {NodeKind.ACTOR, NodeKind.JOB} or len(parts) < _ACTOR_PARTS:
                raise _refused(path, "has a node of another kind", "Name jobs, and actors of declared types.")
            ids.append(node_id(kind, *parts))  # another program may encode more characters than necessary
        found.append((path, ids[0], ids[1]))
    return found


def _refused(path: str, what: str, hint: str) -> InvalidEventError:
    return InvalidEventError(f"{path} {what}.", field=path, hint=hint)
