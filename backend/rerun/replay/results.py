"""The result of a replay: the rows that differ between the real datasets and the replay's output."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from headwater.backend.rerun.replay.compare import compare
from headwater.backend.rerun.replay.kinds.kind import file_prefix, place_of
from headwater.backend.rerun.replay.local_copies import fetched
from headwater.backend.rerun.replay.model import Difference, Replay
from headwater.backend.rerun.replay.replayed_places import places_written
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage.addresses import is_remote
from headwater.spark_listener.shadow_paths import ShadowPaths

_LIMIT = 100  # limit of shown differences


def add_result(replay: Replay, sources: DataRoots, folder: Path) -> None:
    """Compare the outputs of a replay, and add the differences and notes to the replay.

    Raises:
        UnsupportedError: the output cannot be compared.
    """
    if replay.erases:
        replay.changed = list(replay.outputs)
        return
    if not replay.outputs:
        replay.differences, replay.differing = dataset_differences(replay, replay.output, sources, folder)
        replay.changed = [replay.output] if replay.differing else []
        return
    same: list[str] = []
    differing: list[str] = []
    for dataset in replay.outputs:
        try:
            found, count = dataset_differences(replay, dataset, sources, folder)
        except HeadwaterError as error:
            if dataset == replay.output:
                raise
            replay.notes.append(f"{dataset} was not compared: {error.message}")
            continue
        (differing if count else same).append(dataset)
        replay.differences += found[: _LIMIT - len(replay.differences)]
        replay.differing += count
    replay.notes += [f"The same as before: {dataset}." for dataset in same]
    replay.notes += [f"Changed: {dataset}." for dataset in differing]
    replay.changed = differing
    if replay.kind == "verify":
        replay.notes.append(_verdict(replay, differing))


def _verdict(replay: Replay, differing: Sequence[str]) -> str:
    if not differing:
        return "Reproducible: no compared dataset differs."
    job = next((step.job for step in replay.steps if set(step.writes) & set(differing)), "an unknown job")
    return f"Not reproducible: the first job whose output differs is {job}."


def dataset_differences(replay: Replay, dataset: str, sources: DataRoots, folder: Path) -> tuple[list[Difference], int]:
    place = place_of(dataset)
    after = ShadowPaths(replay.shadow).folder(place)
    places = places_written(dataset, after, replay.within if dataset == replay.output else "")
    chosen = None if replay.chosen is None else _inner_paths(dataset, replay.chosen)
    own = _own_files(replay, dataset, places) if chosen is None else None
    is_same_script = replay.kind != "what-if" or bool(replay.edits)
    options = csv_options(replay.shadow, after) if is_same_script else None
    if not is_remote(place):
        return compare(dataset, Path(place), after, sources=sources, places=places, only=own, chosen=chosen, options=options, limit=_LIMIT)
    with fetched(sources, place, folder) as copy:
        roots = DataRoots.of([copy])
        return compare(dataset, copy, after, sources=roots, places=places, only=own, chosen=chosen, options=options, limit=_LIMIT)


def _own_files(replay: Replay, dataset: str, places: Sequence[str]) -> Collection[str] | None:
    """Return the files to compare of an output with data of other runs, by their paths in it. None if all files are compared.

    Raises:
        UnsupportedError: these files are not known, and the other data cannot be told apart by its partitions.
    """
    if dataset not in replay.joint:
        return None
    if files := replay.own_files.get(dataset):
        return _inner_paths(dataset, dict.fromkeys(files, ())).keys()
    if list(places) != [""]:
        return None
    raise UnsupportedError(
        f"{dataset} also has data of runs that the replay does not repeat, and which of its files the repeated runs wrote is not known.",
        hint="Run the program once on all of its inputs with record capture, so that it replaces the output, and replay that run.",
    )


def csv_options(shadow: str, folder: Path) -> Mapping[str, str] | None:
    """Return the options with which Spark wrote the CSV in a shadow folder, or None if they are unknown or differ.

    `jvm/replay/ReplayRule` writes them next to the shadow.
    """
    try:
        lines = Path(f"{shadow}.written").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    written = {json.dumps(options): options for path, options in map(json.loads, lines) if folder in (Path(path), *Path(path).parents)}
    return next(iter(written.values())) if len(written) == 1 else None


def _inner_paths(dataset: str, chosen: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Return chosen rows by the path of their file inside the dataset. The path is empty if the dataset is a file."""
    prefix = file_prefix(dataset).rstrip("/")
    if outside := [file for file in chosen if file != prefix and not file.startswith(f"{prefix}/")]:
        raise UnsupportedError(f"{outside[0]} is not in the folder of {dataset}, so its rows cannot be compared.")
    return {file.removeprefix(prefix).strip("/"): rows for file, rows in chosen.items()}
