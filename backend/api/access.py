"""The table of access rules: one rule for each endpoint, enforced by the guard.

An endpoint without a rule does not exist for any caller, even if the application has a route for it. A new endpoint stays closed until
it has a rule. Each GraphQL field states its own rule (`headwater.graphql.root_fields`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.routing import compile_path

from headwater.graph.access.scopes import Answering, Scope
from headwater.graph.prov import NOTATIONS


@dataclass(frozen=True, slots=True)
class Rule:
    """The requirements of one endpoint. A `scope` of None opens it to everyone. `operation` is its name in the audit log.

    `accepts` are the allowed media types of a body; without any, the endpoint itself checks. If `streamed` is true, a body is written to
    disk in pieces and never held in memory. If `linked` is true, pages of other sites may link to it. `within` is the answer for callers
    who have the scope in some namespaces only; by default they are refused.
    """

    scope: Scope | None
    operation: str
    accepts: frozenset[str] = frozenset()
    streamed: bool = False
    linked: bool = False
    within: Answering = Answering.REFUSED


_SILENT, _FILTERED = Answering.SILENT, Answering.FILTERED
_JSON = frozenset({"application/json"})
_BYTES = frozenset({"application/octet-stream"})
_PROV = _BYTES | {notation.media_type for notation in NOTATIONS.values()}

# Marquez's read API (headwater.backend.compat.marquez).
_MARQUEZ = tuple(
    ("GET", f"/api/v1/{path}")
    for path in (
        "namespaces", "namespaces/{namespace}", "sources", "sources/{source}", "jobs", "jobs/runs/{run}", "jobs/runs/{run}/facets",
        "namespaces/{namespace}/jobs", "namespaces/{namespace}/jobs/{job}", "namespaces/{namespace}/jobs/{job}/runs",
        "namespaces/{namespace}/jobs/{job}/versions", "namespaces/{namespace}/jobs/{job}/versions/{version}",
        "namespaces/{namespace}/datasets", "namespaces/{namespace}/datasets/{dataset}",
        "namespaces/{namespace}/datasets/{dataset}/versions", "namespaces/{namespace}/datasets/{dataset}/versions/{version}",
        "lineage", "column-lineage", "runlineage/upstream", "search", "tags", "stats/jobs", "stats/datasets", "stats/sources",
    )
)  # fmt: skip

# The search of Marquez's page, if its advanced search is on.
_MARQUEZ_BETA = (("GET", "/api/v2beta/search/jobs"), ("GET", "/api/v2beta/search/datasets"))

# These endpoints answer from the log. An event in the log may name other namespaces.
_MARQUEZ_EVENTS = tuple(("GET", f"/api/v1/{path}") for path in ("events/lineage", "events", "stats/lineage-events"))

# Marquez's endpoints to add and remove tags.
_MARQUEZ_TAGS = tuple(
    (method, f"/api/v1/namespaces/{{namespace}}/{path}/tags/{{tag}}")
    for path in ("datasets/{dataset}", "datasets/{dataset}/fields/{field}", "jobs/{job}")
    for method in ("POST", "DELETE")
)

# CDAP's lineage API (headwater.backend.compat.cdap).
_CDAP = tuple(
    ("GET", f"/v3/namespaces/{{namespace}}/datasets/{{dataset}}/lineage{path}")
    for path in ("", "/fields", "/fields/{field}", "/fields/{field}/operations")
)
_CDAP_PATHS = ("GET", "/v3/namespaces/{namespace}/datasets/{dataset}/fields/{field}/lineage")
_CDAP_SEARCH = (("GET", "/v3/metadata/search"), ("GET", "/v3/namespaces/{namespace}/metadata/search"))

# The recorder of operations in the form of CDAP's.
_CDAP_RECORDER = ("POST", "/v3/namespaces/{namespace}/apps/{application}/{type}/{program}/runs/{run}/lineage/operations")

PAGE = Rule(None, "page", linked=True, within=_SILENT)  # the page's files, which hold no data; the page itself asks for a session

RULES: Mapping[tuple[str, str], Rule] = {
    ("GET", "/healthz"): Rule(None, "health", within=_SILENT),
    ("GET", "/readyz"): Rule(None, "health", within=_SILENT),
    ("GET", "/metrics"): Rule(Scope.OPERATE, "metrics", within=_SILENT),
    ("GET", "/openapi.json"): Rule(Scope.OPERATE, "specification", within=_SILENT),
    ("GET", "/login"): Rule(None, "session.login", linked=True, within=_SILENT),
    ("GET", "/login/callback"): Rule(None, "session.login", linked=True, within=_SILENT),
    ("POST", "/graphql"): Rule(Scope.READ, "graphql", within=_FILTERED),
    ("POST", "/api/v1/lineage"): Rule(Scope.INTAKE, "intake.events", _JSON, within=_FILTERED),
    ("POST", "/api/v1/lineage/batch"): Rule(Scope.INTAKE, "intake.events", _JSON, within=_FILTERED),
    ("PUT", "/api/v1/captures/{capture}/segments/{name}"): Rule(Scope.INTAKE, "intake.segment", _BYTES, streamed=True),
    ("POST", "/api/v1/captures"): Rule(Scope.INTAKE, "intake.manifest", _JSON),
    ("POST", "/api/v1/prov"): Rule(Scope.INTAKE, "intake.prov", _PROV),
    ("GET", "/api/v1/prov"): Rule(Scope.EXPORT, "export.prov", within=_FILTERED),
    ("GET", "/api/v1/evidence"): Rule(Scope.EXPORT, "export.evidence"),
    ("GET", "/api/v1/export/datahub"): Rule(Scope.EXPORT, "export.datahub", within=_FILTERED),
    ("GET", "/api/v1/export/openmetadata"): Rule(Scope.EXPORT, "export.openmetadata", within=_FILTERED),
    ("GET", "/api/v1/impact"): Rule(Scope.READ, "impact", within=_FILTERED),
    ("GET", "/api/v1/columns/access"): Rule(Scope.READ, "columns", within=_FILTERED),
    ("GET", "/api/v1/columns/lineage"): Rule(Scope.READ, "columns", within=_FILTERED),
    ("GET", "/api/v1/columns/tags"): Rule(Scope.READ, "columns", within=_FILTERED),
    ("GET", "/api/v1/descriptions"): Rule(Scope.READ, "descriptions", within=_FILTERED),
    ("POST", "/api/v1/declarations"): Rule(Scope.DECLARE, "declare", _JSON, within=_FILTERED),
    ("POST", "/api/v1/triggers/{name}/fire"): Rule(Scope.REPLAY, "trigger.fire_by_hand"),
    ("GET", "/api/v1/audit"): Rule(Scope.AUDIT, "audit.read"),
    **dict.fromkeys((*_MARQUEZ, *_MARQUEZ_BETA), Rule(Scope.READ, "marquez", within=_FILTERED)),
    **dict.fromkeys(_MARQUEZ_EVENTS, Rule(Scope.READ, "marquez")),
    ("PUT", "/api/v1/tags/{tag}"): Rule(Scope.DECLARE, "declare", _JSON),  # the description of a tag applies to all namespaces
    **dict.fromkeys(_MARQUEZ_TAGS, Rule(Scope.DECLARE, "declare", _JSON, within=_FILTERED)),
    **dict.fromkeys((*_CDAP, _CDAP_PATHS, *_CDAP_SEARCH), Rule(Scope.READ, "cdap", within=_FILTERED)),
    _CDAP_RECORDER: Rule(Scope.DECLARE, "declare", _JSON),
    ("GET", "/api/v1/session"): Rule(Scope.READ, "session", within=_SILENT),
    ("DELETE", "/api/v1/session"): Rule(Scope.READ, "session.close", within=_SILENT),
    ("POST", "/api/v1/tickets"): Rule(Scope.READ, "ticket", within=_SILENT),
}
_DATA = ("/api", "/graphql", "/v3")
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (compile_path(path)[0], path) for path in dict.fromkeys(path for _, path in RULES) if "{" in path
)
_PATHS = frozenset(path for _, path in RULES)


def rule_of(method: str, path: str) -> Rule | None:
    named = named_path(path)
    if named is not None:
        return RULES.get((method, named))
    is_data = any(path == start or path.startswith(f"{start}/") for start in _DATA)
    return PAGE if method in ("GET", "HEAD") and not is_data else None


def named_path(path: str) -> str | None:
    """Return the path in the table that matches a request's path."""
    return path if path in _PATHS else next((name for pattern, name in _PATTERNS if pattern.match(path)), None)


def methods_of(named: str) -> list[str]:
    return sorted(method for method, path in RULES if path == named)
