"""The request for a catalog export, and its form on a command line or in a URL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from headwater.errors import InvalidQueryError

# DataHub's environments (FabricType). The URN of a dataset ends with one.
ENVIRONMENTS = ("PROD", "CORP", "DEV", "EI", "NON_PROD", "PRD", "PRE", "QA", "RVW", "STG", "TEST", "UAT")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True)
class CatalogRequest:
    """The namespaces to export (patterns with * and ?; all by default), and their names in the other catalog (`known_as`)."""

    namespaces: Sequence[str] = ()
    known_as: dict[str, str] = field(default_factory=dict)
    environment: str = "PROD"

    @classmethod
    def of(cls, namespaces: Sequence[str], known_as: Sequence[str], environment: str) -> CatalogRequest:
        """Parse a request. An entry of `known_as` has the form `NAMESPACE=NAME`.

        Raises:
            InvalidQueryError: a name is invalid or ambiguous, or the environment is not one of DataHub's.
        """
        if environment not in ENVIRONMENTS:
            raise InvalidQueryError(
                f"{environment[:100]!r} is no environment.", field="environment", hint=f"DataHub has {', '.join(ENVIRONMENTS)}."
            )
        names: dict[str, str] = {}
        for stated in known_as:
            namespace, _, name = stated.rpartition("=")
            if not namespace or not _NAME.fullmatch(name):
                raise InvalidQueryError(
                    f"{stated[:200]!r} does not say what a namespace is called.",
                    field="known_as",
                    hint="Write NAMESPACE=NAME; the name has letters, digits, - and _.",
                )
            if namespace in names or name in names.values():
                raise InvalidQueryError(f"{stated[:200]!r} is the second for its namespace or name.", field="known_as")
            names[namespace] = name
        return cls(tuple(namespaces), names, environment)

    def holds(self, namespace: str) -> bool:
        return not self.namespaces or any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)
