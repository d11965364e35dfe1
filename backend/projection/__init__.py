"""Log entry → graph batch: the statements of an OpenLineage event, a capture's manifest or a declaration, as nodes and edges.

For the projector, which folds the log into a store, and for rebuilding a graph. A projection is a pure function of one entry. So entries
may come late, twice or in any order, and the graph ends the same. `link_versions` adds links that need two entries (this run read the files
that that run wrote). Nothing in an entry is dropped: an unknown facet is a property like the others.
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
