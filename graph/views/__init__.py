"""Views: end-to-end lineage that zooms and masks, in time, and the lists of impact and cause."""

from headwater.graph.views.answer import Levels, Members, Sight, Totals, VisibleEdge, VisibleNode
from headwater.graph.views.request import Mask, MaskBy, ViewRequest
from headwater.graph.views.viewing import View, view

__all__ = ["Levels", "Mask", "MaskBy", "Members", "Sight", "Totals", "View", "ViewRequest", "VisibleEdge", "VisibleNode", "view"]
