"""Headwater: where did this data come from, exactly?

The public names. All other modules are private to their folders. Names are imported on first use, so that importing `headwater` within a
Spark job costs nothing and needs only the light install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater.errors import HeadwaterError, MissingExtraError

if TYPE_CHECKING:
    from headwater.lineages import lineage
    from headwater.recording import record_operations
    from headwater.spark_listener.attach import attach, detach, operation
    from headwater.spark_listener.declared import row_wise

__version__ = "0.1.0"
__all__ = ["HeadwaterError", "__version__", "attach", "detach", "lineage", "operation", "record_operations", "row_wise"]

_LAZY = {
    "attach": "headwater.spark_listener.attach",
    "detach": "headwater.spark_listener.attach",
    "lineage": "headwater.lineages",
    "operation": "headwater.spark_listener.attach",
    "record_operations": "headwater.recording",
    "row_wise": "headwater.spark_listener.declared",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            raise MissingExtraError(f"headwater.{name}", extra="server") from error
    raise AttributeError(f"module 'headwater' has no attribute {name!r}; it has {', '.join(__all__)}")
