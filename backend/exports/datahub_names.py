"""URNs: DataHub's names for datasets, columns, jobs, owners and tags.

Two datasets must never get the same URN, because the second would silently replace the first. The URN of a dataset contains no database
host. Two databases of one kind therefore need names (`known_as`), which DataHub calls platform instances.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headwater.backend.exports.request import CatalogRequest
from headwater.errors import InvalidQueryError
from headwater.graph.model import parse_id

# Schemes of namespaces for which DataHub has another platform name.
_PLATFORMS = {
    "postgresql": "postgres", "sqlserver": "mssql", "gs": "gcs", "abfss": "abs", "abfs": "abs", "wasbs": "abs", "awsathena": "athena",
}  # fmt: skip
_BUCKETS = ("s3", "gcs", "abs")  # the names of their datasets consist of bucket and key
_RESERVED = {",": "%2C", "(": "%28", ")": "%29", "\u241f": "%E2%90%9F"}
_SPELT = re.compile("|".join(("%25", *_RESERVED.values())), re.IGNORECASE)
_UNSAFE = re.compile(r"[,()\u241f]")


def encoded(name: str) -> str:
    """Encode a part of a URN. Text that looks like an encoded character is encoded too, so names stay distinct."""
    spelt = _SPELT.sub(lambda found: f"%25{found[0][1:]}", name)
    return _UNSAFE.sub(lambda found: _RESERVED[found[0]], spelt)


@dataclass(frozen=True, slots=True)
class Platform:
    """The platform of a namespace's datasets. Their names begin with `bucket`."""

    name: str
    bucket: str | None
    instance: str | None

    @property
    def urn(self) -> str:
        return f"urn:li:dataPlatform:{encoded(self.name)}"

    @property
    def instance_urn(self) -> str | None:
        return f"urn:li:dataPlatformInstance:({self.urn},{encoded(self.instance)})" if self.instance else None


class Urns:
    """The URNs of one export. `namespaces` are all namespaces of datasets.

    Raises:
        InvalidQueryError: datasets of two namespaces may get the same URN.
    """

    def __init__(self, request: CatalogRequest, namespaces: Iterable[str]) -> None:
        self._environment = request.environment
        self._known_as = request.known_as
        self._platforms: dict[str, Platform] = {}
        for namespace in sorted(namespaces):
            self.platform(namespace)

    def platform(self, namespace: str) -> Platform:
        found = self._platforms.get(namespace)
        if found is None:
            found = _platform(namespace, self._known_as.get(namespace))
            clash = next((other for other, there in self._platforms.items() if _may_share_names(found, there)), None)
            if clash is not None:
                raise InvalidQueryError(
                    f"Datasets of {clash} and of {namespace} could have one name in DataHub.",
                    field="known_as",
                    hint="Give each a name, which DataHub calls a platform instance: NAMESPACE=NAME.",
                )
            self._platforms[namespace] = found
        return found

    def dataset(self, identifier: str) -> str:
        """Return the URN of a dataset. `identifier` may also be the id of a column or version of it."""
        namespace, name = parse_id(identifier)[1][:2]
        platform = self.platform(namespace)
        called = name if platform.bucket is None else f"{platform.bucket}/{name}"
        if platform.instance:
            called = f"{platform.instance}.{called}"
        return f"urn:li:dataset:({platform.urn},{encoded(called)},{self._environment})"

    def field(self, dataset: str, path: str) -> str:
        """Return the URN of a column from the URN of its dataset."""
        return f"urn:li:schemaField:({dataset},{encoded(path)})"

    def column(self, identifier: str) -> str:
        """Return the URN of a column from its id."""
        return self.field(self.dataset(identifier), parse_id(identifier)[1][2])

    def flow(self, orchestrator: str, namespace: str) -> str:
        return f"urn:li:dataFlow:({encoded(orchestrator)},{encoded(namespace)},{self._environment})"

    def job(self, flow: str, name: str) -> str:
        return f"urn:li:dataJob:({flow},{encoded(name)})"


def owner_urn(name: str) -> str:
    """Return the URN of an owner. Names with `team:` or `group:` are groups, all others are people."""
    kind, _, rest = name.partition(":")
    if rest and kind in ("team", "group"):
        return f"urn:li:corpGroup:{encoded(rest)}"
    return f"urn:li:corpuser:{encoded(rest if rest and kind == 'user' else name)}"


def tag_urn(name: str) -> str:
    return f"urn:li:tag:{encoded(name)}"


def term_urn(name: str) -> str:
    return f"urn:li:glossaryTerm:{encoded(name)}"


def _platform(namespace: str, instance: str | None) -> Platform:
    scheme, separator, authority = namespace.partition("://")
    name = _PLATFORMS.get(scheme, scheme)
    return Platform(name, authority if separator and name in _BUCKETS else None, instance)


def _may_share_names(one: Platform, other: Platform) -> bool:
    """Whether datasets of two namespaces may get the same name. The name of an instance is unique; buckets may be nested."""
    if one.name != other.name or (one.instance and other.instance):
        return False
    if one.instance or other.instance or one.bucket is None or other.bucket is None:
        return True
    mine, theirs = f"{one.bucket}/", f"{other.bucket}/"
    return mine.startswith(theirs) or theirs.startswith(mine)
