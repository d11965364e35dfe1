"""Projects a log entry to a graph batch: the statements of an event, a capture's manifest or a declaration become nodes and edges.

The projector uses it, and the rebuild of a graph. A projection is a pure function of one entry. Entries
may arrive late, twice or in any order, and the resulting graph is the same. `link_versions` adds links that need two entries (one run read
the files that another run wrote). No part of an entry is dropped: an unknown facet becomes a property like the others.
"""

from headwater.backend.projection.capture import WrittenFile, capture_stamp, project_capture
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.projection.file_moves import project_moves
from headwater.backend.projection.fold import fold, link_versions

__all__ = [
    "WrittenFile", "capture_stamp", "declaration_stamp", "event_stamp", "fold", "link_versions", "project_capture", "project_declaration",
    "project_event", "project_moves",
]  # fmt: skip
