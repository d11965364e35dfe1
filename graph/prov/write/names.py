"""IRIs in each notation: with a prefix if a namespace of the document fits, else the whole IRI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quoted

from headwater.errors import UnsupportedError
from headwater.graph.prov.bases import Bases

# PROV-N 3.7.1: these may stand in the local part of a name only after a backslash.
_ESCAPED = re.compile(r"[=':;,()\[\]]")


class Names:
    """Writes IRIs with the prefixes of a document."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self._prefixes = {base: f"{prefix}:" for prefix, base in reversed(list(namespaces.items())) if prefix}
        self._bases = Bases(self._prefixes)

    def compact(self, iri: str) -> str:
        """Return an IRI as `prefix:local`.

        Raises:
            UnsupportedError: no namespace of the document fits.
        """
        base = self._bases.longest(iri)
        if base is None:
            raise UnsupportedError(f"The name {iri} lies in no namespace of the document.", hint="Declare its namespace.")
        return self._prefixes[base] + iri[len(base) :]

    def in_json(self, iri: str) -> str:
        """Return the compact name as a JSON text."""
        return quoted(self.compact(iri))

    def in_provn(self, iri: str) -> str:
        """Return the compact name with the escapes of PROV-N."""
        prefix, _, local = self.compact(iri).partition(":")
        escaped = _ESCAPED.sub(r"\\\g<0>", local)
        return f"{prefix}:{escaped[:-1]}\\." if escaped.endswith(".") else f"{prefix}:{escaped}"
