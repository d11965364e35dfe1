"""Interfaces of other lineage services, answered from our graph: Marquez and CDAP."""
