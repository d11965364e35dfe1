"""Text: each line is a record of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.graph.trace.files.formats.lined import LineFormat
from headwater.graph.trace.files.lines import LineRules


class Text(LineFormat):
    """Lines as they are, blank ones too."""

    def rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        return LineRules(blank=True, header=False)

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any]) -> bool:
        del lines, options
        return True

    def cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        del options
        return pa.table({names[0]: pa.array([line.decode("utf-8", "replace") for line in lines], pa.string())})
