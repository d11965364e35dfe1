"""Checks a workflow against its home: registered programs, permitted folders, and other workflows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from headwater.backend.workflows.channel_folders import refuse_unreadable_name
from headwater.backend.workflows.ledger import Ledger
from headwater.backend.workflows.model import Workflow
from headwater.backend.workflows.programs import find_program
from headwater.backend.workflows.shadow import PREFIX
from headwater.errors import HeadwaterError, InvalidInputError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.spark_listener.registry import Registry

# Spark's readers treat these as patterns, lists or schemes. An `=` would make the channel a partition column.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f*?\[\]{}\\,:=]")


def is_below_root(sources: DataRoots, folder: str | None) -> Callable[[str, bool], bool]:
    """Return a test for whether a folder may contain data of a workflow.

    The test takes a real path, and whether the workflow writes there. A written folder must lie below a data root, and not be a root
    itself. `folder` is one more root: the folder of the workflow's file, if the operator set no roots.
    """

    def test(path: str, is_written: bool) -> bool:
        if sources.forbidden(path) is not None:
            return False
        place = str(Path(path).parent) if is_written else path
        return sources.cover(place) or (folder is not None and (f"{place}/".startswith(f"{folder}/") and path != folder))

    return test


def with_real_paths(workflow: Workflow) -> Workflow:
    """Return the workflow with symbolic links resolved in the paths of its channels."""
    channels = {name: replace(channel, path=Path(os.path.realpath(channel.path))) for name, channel in workflow.channels.items()}
    return replace(workflow, channels=channels)


def home_problems(workflow: Workflow, registry: Registry, ledger: Ledger, may_use: Callable[[str, bool], bool]) -> Iterator[HeadwaterError]:
    """Yield the errors that keep a workflow from running on this home. Its structure must be valid, and its paths must be real paths."""
    for task in workflow.tasks.values():
        try:
            find_program(task, registry)
        except UnsupportedError as error:
            yield error
    written = workflow.written
    for channel in workflow.channels.values():
        place, path = f"channels.{channel.name}", str(channel.path)
        try:
            refuse_unreadable_name(path)
        except InvalidInputError as error:
            yield InvalidInputError(f"The path of the channel {channel.name}: {error.message}", field=place, hint=error.hint)
            continue
        if _UNSAFE.search(path) or f"/{PREFIX}" in path:
            yield InvalidInputError(
                f"The path {path!r} of the channel {channel.name} has a character that Spark reads as a part of a pattern or a list.",
                field=place, hint="Use letters, digits, spaces, -, _ and dots.",
            )  # fmt: skip
        elif not may_use(path, channel.name in written):
            yield InvalidInputError(
                f"The channel {channel.name} at {path} lies outside of the roots.", field=place,
                hint="Put it below the folder of the workflow's file, or name its folder in HEADWATER_DATA_ROOTS.",
            )  # fmt: skip
        elif channel.path.exists() and not channel.path.is_dir():
            yield InvalidInputError(f"The channel {channel.name} at {path} is not a folder.", field=place, hint="Name a folder.")
    yield from _ownership_problems(workflow, ledger)


def _ownership_problems(workflow: Workflow, ledger: Ledger) -> Iterator[HeadwaterError]:
    written, known = workflow.written, {}
    for owner, name, path, is_written in ledger.channels():
        if owner == workflow.name:
            known[name] = (path, is_written)
            continue
        for mine in written:
            other = str(workflow.channels[mine].path)
            if is_written and (path == other or f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")):
                yield InvalidInputError(
                    f"The workflow {owner} writes its channel {name} at {path}, and so would the channel {mine}.",
                    field=f"channels.{mine}", hint="A channel has one writer. Read it as a source instead.",
                )  # fmt: skip
    for name, channel in workflow.channels.items():
        is_known = name in known and bool(ledger.blocks(workflow.name, name))
        if is_known and known[name] != (str(channel.path), name in written):
            yield InvalidInputError(
                f"The channel {name} has blocks at {known[name][0]} already, {'from a task' if known[name][1] else 'as a source'}.",
                field=f"channels.{name}", hint="Give the changed channel another name.",
            )  # fmt: skip
        elif name in written and not is_known and channel.path.is_dir() and any(channel.path.iterdir()):
            yield InvalidInputError(
                f"The folder {channel.path} of the channel {name} is not empty, and a task would write there.",
                field=f"channels.{name}", hint="Name a new folder for what tasks write.",
            )  # fmt: skip
