"""Log entry → graph batch: what an OpenLineage event, a capture's manifest or a declaration states, as nodes and edges.

For the projector, which folds the log into a store, and for whoever rebuilds a graph. What projects is pure and looks at one entry alone;
so entries may come late, twice or in any order, and the graph ends the same. What only two entries together tell (this run read the files
that that run wrote) `link_versions` adds. Nothing that an entry states is dropped: a facet that is not known is a property like the others.
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
