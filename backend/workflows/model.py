"""The model of a workflow's file: channels, tasks, and triggers.

The parser checks the form only: names, modes, options. The module `checks` compares a workflow with the programs and folders of the home.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from headwater.backend.workflows.variables import refuse_variable
from headwater.errors import InvalidInputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_ARGUMENT = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]{0,63}")
_MOST = 200  # limit of channels, of tasks, and of parameters of a task
_CAPTURE_MODES = ("off", "coarse", "lazy", "auto", "active")


class Consumption(StrEnum):
    """The part of a channel that a task reads: the current version, the blocks after its cursor, or the version at its cursor."""

    ALL = "all"
    NEW = "new"
    OLD = "old"


class Production(StrEnum):
    """The effect of a block on its channel: a base replaces the content, a delta adds to it."""

    BASE = "base"
    DELTA = "delta"


class Form(StrEnum):
    """The form of paths for a program: on the command line, or in a text file with one path in each line."""

    PATHS = "paths"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Channel:
    """A folder of blocks. A channel that no task writes is a source: files that arrive there become its blocks."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Parameter:
    """The option of the command line (`--articles`) or the environment variable that passes paths to a program."""

    argument: str | None
    variable: str | None
    form: Form = Form.PATHS


@dataclass(frozen=True, slots=True)
class Input:
    """A channel that a task reads."""

    channel: str
    mode: Consumption
    parameter: Parameter


@dataclass(frozen=True, slots=True)
class Output:
    """A channel that a task writes."""

    channel: str
    mode: Production
    parameter: Parameter


@dataclass(frozen=True, slots=True)
class Task:
    """A registered program with its inputs and outputs. `seconds` is its time limit. `capture` is the mode of record capture."""

    name: str
    program: str
    namespace: str
    inputs: Sequence[Input]
    outputs: Sequence[Output]
    capture: str
    seconds: float | None

    @property
    def parameters(self) -> list[Parameter]:
        return [*(each.parameter for each in self.inputs), *(each.parameter for each in self.outputs)]

    @property
    def reads(self) -> list[str]:
        return list(dict.fromkeys(each.channel for each in self.inputs))

    @property
    def writes(self) -> list[str]:
        return [each.channel for each in self.outputs]


@dataclass(frozen=True, slots=True)
class TriggerRule:
    """A rule that starts tasks: new data of the channel `on`, or the cron expression `every` in the time zone `zone`."""

    name: str
    on: str | None
    every: str | None
    zone: str
    run: Sequence[str]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow. Each task comes after the tasks whose output it reads."""

    name: str
    channels: Mapping[str, Channel]
    tasks: Mapping[str, Task]
    triggers: Mapping[str, TriggerRule]

    @property
    def written(self) -> dict[str, str]:
        """Return the channels that tasks write, each with its task."""
        return {channel: task.name for task in self.tasks.values() for channel in task.writes}


def parse_workflow(document: Mapping[str, Any], folder: Path) -> Workflow:
    """Parse a workflow's document. Relative paths are relative to `folder`.

    Raises:
        InvalidInputError: a part is missing, unknown or invalid.
    """
    top = _Part(document, "")
    top.refuse_other("workflow", "channels", "tasks", "triggers")
    name = _name(top.text("workflow"), "workflow")
    channels = {each: _channel(each, part, folder) for each, part in top.parts("channels").items()}
    tasks = {each: _task(each, part) for each, part in top.parts("tasks").items()}
    triggers = {each: _trigger(each, part, list(tasks)) for each, part in top.parts("triggers", is_needed=False).items()}
    return Workflow(name, channels, tasks, triggers)


class _Part:
    """A mapping of the document with its path in the document, for error messages."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{place or 'The file'} is not a mapping.", field=place, hint="See docs/guide/workflows.md.")
        self._value, self.place = value, place

    def _at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def refuse_other(self, *known: str) -> None:
        for key in self._value:
            if key not in known:
                place = self._at(str(key))
                raise InvalidInputError(f"{place} is not known.", field=place, hint=f"Known here: {', '.join(known)}.")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value.get(key, default)
        if not isinstance(value, str) or not value or not value.isprintable():
            what = "is missing" if key not in self._value else f"is {value!r}, and not a text in one line"
            raise InvalidInputError(f"{self._at(key)} {what}.", field=self._at(key), hint="See docs/guide/workflows.md.")
        return value

    def optional(self, key: str) -> str | None:
        return self.text(key) if self._value.get(key) is not None else None

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise InvalidInputError(f"{self._at(key)} is {value!r}.", field=self._at(key), hint=f"Choose of {', '.join(choices)}.")
        return value

    def number(self, key: str) -> float | None:
        value = self._value.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**9:
            raise InvalidInputError(f"{self._at(key)} is {value!r}, and not a number of seconds.", field=self._at(key))
        return float(value)

    def parts(self, key: str, *, is_needed: bool = True) -> dict[str, _Part]:
        value = self._value.get(key)
        if value is None and not is_needed:
            return {}
        if not isinstance(value, Mapping) or not value or len(value) > _MOST:
            raise InvalidInputError(
                f"{self._at(key)} is not a mapping with 1 to {_MOST} names.", field=self._at(key), hint="See docs/guide/workflows.md."
            )
        return {_name(name, self._at(key)): _Part(part, f"{self._at(key)}.{name}") for name, part in value.items()}

    def items(self, key: str) -> list[_Part]:
        value = self._value.get(key)
        if not isinstance(value, list) or not 0 < len(value) <= _MOST:
            raise InvalidInputError(
                f"{self._at(key)} is not a list with 1 to {_MOST} entries.", field=self._at(key), hint="A task has inputs and outputs."
            )
        return [_Part(item, f"{self._at(key)}[{number}]") for number, item in enumerate(value)]

    def names(self, key: str, default: list[str]) -> list[str]:
        value = self._value.get(key, default)
        if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
            raise InvalidInputError(f"{self._at(key)} is not a list of names.", field=self._at(key), hint="Write [one, two].")
        return list(value)


def _name(text: Any, place: str) -> str:
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise InvalidInputError(
            f"{place}: {text!r} is not a name.", field=place, hint="A name has up to 64 letters, digits, _ and -, and begins with a letter."
        )
    return text


def _channel(name: str, part: _Part, folder: Path) -> Channel:
    part.refuse_other("path")
    path = Path(part.text("path"))
    return Channel(name, path if path.is_absolute() else folder / path)


def _task(name: str, part: _Part) -> Task:
    part.refuse_other("program", "namespace", "inputs", "outputs", "capture", "seconds")
    inputs = [_input(each) for each in part.items("inputs")]
    outputs = [_output(each) for each in part.items("outputs")]
    return Task(
        name=name, program=part.text("program"), namespace=part.text("namespace", "default"), inputs=inputs, outputs=outputs,
        capture=part.choice("capture", _CAPTURE_MODES, "active"), seconds=part.number("seconds"),
    )  # fmt: skip


def _input(part: _Part) -> Input:
    part.refuse_other("channel", "mode", "argument", "variable", "form")
    return Input(part.text("channel"), Consumption(part.choice("mode", list(Consumption))), _parameter(part))


def _output(part: _Part) -> Output:
    part.refuse_other("channel", "mode", "argument", "variable")
    return Output(part.text("channel"), Production(part.choice("mode", list(Production))), _parameter(part))


def _parameter(part: _Part) -> Parameter:
    argument, variable = part.optional("argument"), part.optional("variable")
    if (argument is None) == (variable is None):
        raise InvalidInputError(
            f"{part.place} has to name either an argument or a variable.", field=part.place, hint="For example: argument: --articles"
        )
    if argument is not None and not _ARGUMENT.fullmatch(argument):
        raise InvalidInputError(
            f"{part.place}.argument is {argument!r}, and not an option.", field=part.place, hint="An option is like --articles."
        )
    if variable is not None:
        refuse_variable(variable, f"{part.place}.variable")
    return Parameter(argument, variable, Form(part.choice("form", list(Form), Form.PATHS)))


def _trigger(name: str, part: _Part, tasks: list[str]) -> TriggerRule:
    part.refuse_other("on", "every", "zone", "run")
    on, every = part.optional("on"), part.optional("every")
    if (on is None) == (every is None):
        raise InvalidInputError(
            f"{part.place} has to have either `on` with a channel or `every` with a cron expression.", field=part.place,
            hint="For example: on: articles",
        )  # fmt: skip
    if every is not None and len(every.split()) != 5:
        raise InvalidInputError(f"{part.place}.every is {every!r}.", field=part.place, hint="A cron expression has five fields.")
    return TriggerRule(name, on, every, part.text("zone", "UTC"), part.names("run", tasks))
