"""JSON, an object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.graph.trace.files.formats.lined import LineFormat
from headwater.graph.trace.files.lines import LineRules


class JsonLines(LineFormat):
    """Lines that are not blank, each an object. Its values are shown; nothing is computed from them."""

    def rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        return LineRules(blank=False, header=False)

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any]) -> bool:
        del lines, options
        return False

    def cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        del options
        records = [_object(line) for line in lines]
        return pa.table({name: pa.array([_text(record.get(name)) for record in records], pa.string()) for name in names})


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}  # Spark reads a malformed line as a record of nulls
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
