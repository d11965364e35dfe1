"""The spool: items of an application that no receiver has acknowledged yet.

Bounded, on disk, checksummed, delivered again after a failure.
"""

from headwater.spark_listener.spool.folder import SpoolFolder, applications, has_ended
from headwater.spark_listener.spool.log import Item, ItemKind, SpoolLog

__all__ = ["Item", "ItemKind", "SpoolFolder", "SpoolLog", "applications", "has_ended"]
