"""One run of a task: the blocks that it reads, its program, and its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.workflows.channel_folders import refuse_link
from headwater.backend.workflows.ledger import Ledger, Run
from headwater.backend.workflows.model import Parameter, Production, Task, Workflow
from headwater.backend.workflows.plan import Reading, TaskPlan, plan_task
from headwater.backend.workflows.programs import Places, bind_parameters, captured_variables, find_program, run_program, time_limit
from headwater.backend.workflows.report import write_report
from headwater.backend.workflows.shadow import (
    block_name,
    in_shadow,
    make_shadow,
    plan_move,
    read_output,
    refuse_other_output,
    shadow_of,
)
from headwater.backend.workflows.sources import FileStates, NewBlock
from headwater.errors import SourceChangedError
from headwater.spark_listener.registry import Registry


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A planned run of a task. `writes` has the number of the new block of each output."""

    workflow: Workflow
    task: Task
    ledger: Ledger
    planned: TaskPlan
    writes: Mapping[str, int]

    @classmethod
    def plan(cls, workflow: Workflow, task: Task, ledger: Ledger, *, starts_over: bool) -> TaskRun | None:
        """Plan the next run of a task. Returns None if there are no unread blocks."""
        blocks = {channel: ledger.block_numbers(workflow.name, channel) for channel in task.reads}
        planned = plan_task(task, blocks, ledger.cursors(workflow.name, task.name), starts_over=starts_over)
        if planned is None:
            return None
        last = {channel: ledger.block_numbers(workflow.name, channel) for channel in task.writes}
        writes = {channel: numbers[-1].sequence + 1 if numbers else 1 for channel, numbers in last.items()}
        return cls(workflow, task, ledger, planned, writes)

    @property
    def reads(self) -> dict[str, dict[str, list[int]]]:
        """Return the numbers of the blocks that the run reads, by channel and mode."""
        found: dict[str, dict[str, list[int]]] = {}
        for reading in self.planned.readings:
            found.setdefault(reading.input.channel, {})[reading.input.mode] = list(reading.sequences)
        return found

    def shadow(self, run: str) -> Path:
        return shadow_of(run, self._outputs().values())

    def execute(self, run: Run, folder: Path, registry: Registry, parent: Mapping[str, str], holding: int) -> None:
        """Run the program, and commit its outputs.

        Raises:
            HeadwaterError: the program failed or wrote undeclared output, or data changed meanwhile. Nothing is committed.
        """
        invocation = find_program(self.task, registry)
        places = Places(folder, Path(run.shadow))
        self._check_blocks()
        outputs = self._outputs()
        make_shadow(places.shadow, outputs.values())
        arguments, variables = bind_parameters(self._bindings(places.shadow), folder)
        variables |= captured_variables(self.task, invocation, places, parent)
        run_program(invocation, places, arguments, variables, holding=holding, stop=time_limit(self.task.seconds))
        self._check_blocks()
        self._register_parameters(registry, invocation, places)
        if self.task.capture != "off":
            read = [self.workflow.channels[each.input.channel].path for each in self.planned.readings if each.sequences]
            write_report(folder, run, self.task, parent, dict.fromkeys(read), outputs.values())
        self._commit(run, places.shadow)

    def _commit(self, run: Run, shadow: Path) -> None:
        outputs = self._outputs()
        refuse_other_output(shadow, {path: self.writes[channel] for channel, path in outputs.items()})
        blocks, moves = {}, []
        for each in self.task.outputs:
            path, sequence = outputs[each.channel], self.writes[each.channel]
            mode = Production.BASE if self.planned.starts_over else each.mode
            blocks[each.channel] = (sequence, NewBlock(mode, read_output(shadow, path, sequence)))
            known = [block.sequence for block in self.ledger.block_numbers(self.workflow.name, each.channel)]
            moves.append(plan_move(shadow, path, each.channel, sequence, mode, known))
        self.ledger.commit(run, blocks, self.planned.cursors, moves)

    def _outputs(self) -> dict[str, Path]:
        return {channel: self.workflow.channels[channel].path for channel in self.task.writes}

    def _register_parameters(self, registry: Registry, invocation: Invocation, places: Places) -> None:
        """Register the paths of the blocks with each run of the program, for replays. Paths of outputs are those in the channels."""
        runs = Registry(places.home).runs()
        if not runs:  # without capture there is no lineage to replay
            return
        folder = places.folder / "replay"
        folder.mkdir(exist_ok=True)
        arguments, variables = bind_parameters(self._bindings(None), folder)
        for each in runs:
            registry.add_parameters(each, invocation.namespace, invocation.job, arguments, variables)

    def _bindings(self, shadow: Path | None) -> list[tuple[Parameter, Sequence[Path]]]:
        """Return the paths for each parameter. Without a shadow, outputs have their places in channels."""
        bound: list[tuple[Parameter, Sequence[Path]]] = [(each.input.parameter, self._paths(each)) for each in self.planned.readings]
        for output in self.task.outputs:
            channel = self.workflow.channels[output.channel].path
            folder = channel if shadow is None else in_shadow(shadow, channel)
            bound.append((output.parameter, [folder / block_name(self.writes[output.channel])]))
        return bound

    def _paths(self, reading: Reading) -> list[Path]:
        """Return the folders of blocks that tasks wrote, or the files in the blocks of a source."""
        folder = self.workflow.channels[reading.input.channel].path
        if reading.input.channel in self.workflow.written:
            return [folder / block_name(sequence) for sequence in reading.sequences]
        return [folder / name for name in sorted(self._files(reading.input.channel, reading.sequences))]

    def _files(self, channel: str, sequences: Sequence[int]) -> FileStates:
        return self.ledger.files(self.workflow.name, channel, sequences)

    def _check_blocks(self) -> None:
        for reading in self.planned.readings:
            folder = self.workflow.channels[reading.input.channel].path
            if folder.exists():
                refuse_link(folder)
            for name, state in self._files(reading.input.channel, reading.sequences).items():
                path = folder / name
                try:
                    status = path.lstat()
                except FileNotFoundError:
                    raise SourceChangedError(
                        f"{path} is gone since it became a part of the channel {reading.input.channel}.", hint=self._remedy(reading)
                    ) from None
                if (status.st_size, status.st_mtime_ns) != state:
                    raise SourceChangedError(
                        f"{path} has changed since it became a part of the channel {reading.input.channel}.", hint=self._remedy(reading)
                    )

    def _remedy(self, reading: Reading) -> str:
        writer = self.workflow.written.get(reading.input.channel)
        if writer is None:
            return "Nothing was committed. Run the workflow again: it reads the source as it is then."
        return f"Put the file back, or make the channel again: headwater workflow run {self.workflow.name} --task {writer} --start-over"
