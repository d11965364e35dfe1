"""Workflows: registered programs that read and write channels (folders of blocks) incrementally. The model is Nova's."""

from headwater.backend.workflows.model import Channel, Consumption, Production, Task, Workflow
from headwater.backend.workflows.service import TaskResult, Workflows

__all__ = ["Channel", "Consumption", "Production", "Task", "TaskResult", "Workflow", "Workflows"]
