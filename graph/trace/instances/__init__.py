"""The instance of a dataflow behind wrong rows: a task, or a file of a source."""

from headwater.graph.trace.instances.answer import FaultyInstance, Instance, InstanceAnswer, InstanceRequest

__all__ = ["FaultyInstance", "Instance", "InstanceAnswer", "InstanceRequest"]
