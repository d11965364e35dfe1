"""Dataflow reconstruction: how the actors inside one container feed one another, and in which order they did."""

from headwater.graph.dataflow.links import Link, LinkKind
from headwater.graph.dataflow.order import Cycle, Dataflow, arrange
from headwater.graph.dataflow.reconstruct import reconstruct

__all__ = ["Cycle", "Dataflow", "Link", "LinkKind", "arrange", "reconstruct"]
