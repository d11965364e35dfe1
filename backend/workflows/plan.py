"""Selects the blocks that a run of a task reads, from the numbers of blocks alone.

Three laws hold. A task in the mode `new` reads each block once. Its runs together read the current version. If a base replaced
the version, the reader starts over: it reads the whole new version as new, and its output is a base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.backend.workflows.model import Consumption, Input, Production, Task


@dataclass(frozen=True, slots=True)
class BlockNumber:
    """The sequence number of a block in its channel, with its mode."""

    sequence: int
    mode: Production


@dataclass(frozen=True, slots=True)
class Reading:
    """The blocks that a run reads for one input."""

    input: Input
    sequences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """The plan of a run. `cursors` are the cursors after the run. If `starts_over` is true, the outputs replace their channels."""

    readings: Sequence[Reading]
    cursors: Mapping[str, int]
    starts_over: bool


def plan_task(
    task: Task, blocks: Mapping[str, Sequence[BlockNumber]], cursors: Mapping[str, int], *, starts_over: bool = False
) -> TaskPlan | None:
    """Plan the next run of a task. Returns None if there are no unread blocks.

    `blocks` has the blocks of each channel that the task reads, in order. With `starts_over`, the task ignores its cursors.
    """
    current = {channel: _current_version(blocks.get(channel, ())) for channel in task.reads}
    new = [each.channel for each in task.inputs if each.mode is Consumption.NEW]
    starts_over = starts_over or any(_was_replaced(blocks.get(channel, ()), cursors.get(channel, 0)) for channel in new)
    before = {} if starts_over else cursors
    readings = [Reading(each, _select(each, current[each.channel], before.get(each.channel, 0))) for each in task.inputs]
    after = {channel: numbers[-1] if numbers else 0 for channel, numbers in current.items()}
    if not any(after.values()):
        return None
    if not starts_over and not any(after[channel] > cursors.get(channel, 0) for channel in new or task.reads):
        return None
    return TaskPlan(readings, after, starts_over)


def _select(each: Input, current: Sequence[int], cursor: int) -> tuple[int, ...]:
    if each.mode is Consumption.ALL:
        return tuple(current)
    return tuple(number for number in current if (number > cursor) is (each.mode is Consumption.NEW))


def _current_version(blocks: Sequence[BlockNumber]) -> list[int]:
    start = max((place for place, block in enumerate(blocks) if block.mode is Production.BASE), default=0)
    return [block.sequence for block in blocks[start:]]


def _was_replaced(blocks: Sequence[BlockNumber], cursor: int) -> bool:
    return cursor > 0 and any(block.sequence > cursor and block.mode is Production.BASE for block in blocks)
