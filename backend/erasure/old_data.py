"""Removes old data that may hold erased records: earlier replays with their outputs, partial results, and trash of versions.

Each function returns sentences about what it removed, and about what stays.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

from pydantic import ValidationError

from headwater.backend.rerun.replay import Replay, Replays, ReplayState
from headwater.backend.rerun.replay.commit import end_retention
from headwater.backend.rerun.replay.kinds.kind import file_prefix
from headwater.backend.rerun.replay.partial_results import partial_results_folder
from headwater.backend.versions import trash
from headwater.backend.versions.compaction import journal as compactions
from headwater.errors import HeadwaterError

_MOST_REPLAYS = 100_000


@dataclass(slots=True)
class Removal:
    """Sentences about removed data, and about data that stays."""

    removed: list[str] = field(default_factory=list)
    remains: list[str] = field(default_factory=list)


async def find_replays(replays: Replays, tenant: str, datasets: Collection[str]) -> list[Replay]:
    """Return the replays that read or wrote one of the datasets."""
    return [replay for replay in await replays.list(tenant, _MOST_REPLAYS) if _concerns(replay, datasets)]


async def remove_replays(replays: Replays, folder: Path, tenant: str, datasets: Collection[str], own: str | None) -> Removal:
    """Remove the replays of `find_replays`, with the old data that their commits kept. `own` is left out."""
    done = Removal()
    for replay in await find_replays(replays, tenant, datasets):
        if replay.id == own:
            continue
        if replay.state in (ReplayState.QUEUED, ReplayState.RUNNING):
            done.remains.append(f"The replay {replay.id} runs now. Remove it when it has ended: headwater replay --remove {replay.id}")
            continue
        try:
            await asyncio.to_thread(end_retention, folder / replay.id)
            await replays.remove(tenant, replay.id)
        except (HeadwaterError, OSError) as error:
            done.remains.append(f"The replay {replay.id} could not be removed: {error}")
        else:
            done.removed.append(f"replay {replay.id}")
    partials = partial_results_folder(folder, tenant)
    if partials.exists():
        await asyncio.to_thread(shutil.rmtree, partials)
        done.removed.append("partial results of replays")
    return done


def _concerns(replay: Replay, datasets: Collection[str]) -> bool:
    touched = {replay.output, *replay.outputs, *replay.starts, *(name for step in replay.steps for name in (*step.reads, *step.writes))}
    if touched & set(datasets):
        return True
    prefixes = tuple(prefix for dataset in datasets if (prefix := _prefix(dataset)))
    return any(file.startswith(prefixes) for file in (*replay.exclude, *replay.keep, *replay.edits)) if prefixes else False


def _prefix(dataset: str) -> str | None:
    try:
        return file_prefix(dataset)
    except HeadwaterError:
        return None


def remove_trash(folder: Path, datasets: Collection[str]) -> Removal:
    """Delete the trash of collections and the old data of compactions of the datasets. `folder` has their journals."""
    done = Removal()
    for path in sorted(folder.glob(f"*/{trash.JOURNAL}")):
        try:
            journal = trash.load(path.parent)
            if journal.dataset in datasets and journal.state is trash.MoveState.MOVED:
                trash.delete(journal)
                journal.state = trash.MoveState.EXPIRED
                trash.save(journal, path.parent)
                done.removed.append(f"trash {journal.trash}")
        except (HeadwaterError, OSError, ValidationError) as error:
            done.remains.append(f"The trash of the collection {path.parent.name} could not be deleted: {error}")
    for path in sorted(folder.glob(f"*/{compactions.JOURNAL}")):
        try:
            compaction = compactions.load(path.parent)
            if compaction.dataset in datasets and compaction.state is compactions.CompactionState.DONE:
                compactions.remove_shadow(compaction)
                compaction.state = compactions.CompactionState.EXPIRED
                compactions.save(compaction, path.parent)
                done.removed.append(f"old data {compaction.shadow}")
        except (HeadwaterError, OSError, ValidationError) as error:
            done.remains.append(f"The old data of the compaction {path.parent.name} could not be deleted: {error}")
    return done


def find_hidden(places: Sequence[str]) -> list[str]:
    """Return hidden files of Headwater next to or in some datasets that still have old data."""
    found = []
    for place in map(Path, places):
        near = [*place.parent.glob(f".{escape(place.name)}.headwater-*"), *(place.glob("**/.*.headwater-*") if place.is_dir() else ())]
        found += [str(path) for path in near]
    return found
