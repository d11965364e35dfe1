"""Prevents the import of pandas in a process that does not need it.

If pandas is installed, pyarrow imports it to recognize pandas' lists, which takes half a second of processor time and 60 MB of memory. Only
processes of Headwater itself may use this module, because a user's program may need pandas.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas:
    """The first import finder, which refuses pandas."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG004  # the import system's
        if name == "pandas":
            raise ModuleNotFoundError("This process does without pandas.", name=name)
        return None


def without_pandas() -> None:
    """Make every later import of pandas fail as if it were not installed."""
    sys.meta_path.insert(0, _NoPandas)
