"""Reconstructs a dataflow: the links between the actors of a container, and the order in which they worked."""

from headwater.graph.dataflow.links import Link, LinkKind
from headwater.graph.dataflow.order import Cycle, Dataflow, arrange
from headwater.graph.dataflow.reconstruct import reconstruct

__all__ = ["Cycle", "Dataflow", "Link", "LinkKind", "arrange", "reconstruct"]
