"""Workflows: registered programs that read and write channels block by block, as Nova composes them."""

from headwater.backend.workflows.model import Channel, Consumption, Production, Task, Workflow
from headwater.backend.workflows.service import TaskResult, Workflows

__all__ = ["Channel", "Consumption", "Production", "Task", "TaskResult", "Workflow", "Workflows"]
