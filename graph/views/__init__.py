"""Views of lineage: zoomed and masked, at points in time, as lists of impact and cause, and by column."""

from headwater.graph.views.access import Access, AccessKind, field_access
from headwater.graph.views.answer import Levels, Members, Sight, Totals, VisibleEdge, VisibleNode
from headwater.graph.views.difference import Difference, difference
from headwater.graph.views.failed_writes import UNWRITTEN, find_failed_writes
from headwater.graph.views.fetch import FLOWS
from headwater.graph.views.fields import FieldEdge, FieldLineage, FieldOperation, ReachingTag, Way, field_lineage, reaching_tags
from headwater.graph.views.former_flows import find_former_flows
from headwater.graph.views.impact import Affected, Impact, impact, impact_of_records
from headwater.graph.views.options import ViewOptions, levels_named
from headwater.graph.views.protection import TagReach, is_same_or_within, names_above
from headwater.graph.views.request import Mask, MaskBy, ViewRequest
from headwater.graph.views.viewing import View, view

__all__ = [
    "FLOWS",
    "UNWRITTEN",
    "Access",
    "AccessKind",
    "Affected",
    "Difference",
    "FieldEdge",
    "FieldLineage",
    "FieldOperation",
    "Impact",
    "Levels",
    "Mask",
    "MaskBy",
    "Members",
    "ReachingTag",
    "Sight",
    "TagReach",
    "Totals",
    "View",
    "ViewOptions",
    "ViewRequest",
    "VisibleEdge",
    "VisibleNode",
    "Way",
    "difference",
    "field_access",
    "field_lineage",
    "find_failed_writes",
    "find_former_flows",
    "impact",
    "impact_of_records",
    "is_same_or_within",
    "levels_named",
    "names_above",
    "reaching_tags",
    "view",
]
