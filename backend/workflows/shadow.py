"""The shadow of a run: the separate folder that its program writes to, and the moves of its blocks into the channels.

A partial block is never visible. A rename makes an added block visible. If a block replaces its channel, one system call
exchanges the channel's folder with a folder that contains this block only. Several outputs of a run become visible one
after the other. All moves can be repeated after a crash: a block in its final place is not moved again.

    /data/.headwater-<run>/channel/block=7      the shadow of the block
    /data/channel/block=7                       its place
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from headwater.backend.rerun.replay.exchange import exchange_folders
from headwater.backend.workflows.channel_folders import open_folder, refuse_link, refuse_unreadable_name
from headwater.backend.workflows.ledger import Move, MoveKind
from headwater.backend.workflows.model import Production
from headwater.backend.workflows.sources import FileStates
from headwater.errors import HeadwaterError, InvalidInputError, SourceChangedError
from headwater.graph.records.atomic_files import sync

PREFIX = ".headwater-"
_HAS_PROC = Path("/proc/self/fd").is_dir()


def block_name(sequence: int) -> str:
    """Return the name of a block's folder. Spark's readers show the number as the partition column `block`."""
    return f"block={sequence}"


def shadow_of(run: str, channels: Iterable[Path]) -> Path:
    """Return the shadow of a run: a hidden folder in the common parent folder of the channels that the run writes."""
    return Path(os.path.commonpath([channel.parent for channel in channels])) / f"{PREFIX}{run}"


def in_shadow(shadow: Path, channel: Path) -> Path:
    return shadow / channel.relative_to(shadow.parent)


def make_shadow(shadow: Path, channels: Iterable[Path]) -> None:
    """Create the folders of a shadow. The folders of blocks are left out, because programs expect that their output does not exist."""
    for channel in channels:
        in_shadow(shadow, channel).mkdir(parents=True)


def read_output(shadow: Path, channel: Path, sequence: int) -> FileStates:
    """Return the files of a written block by their paths in the channel. The files are flushed to disk.

    Raises:
        HeadwaterError: the program did not write the block, or wrote entries that are neither files nor folders.
    """
    folder = in_shadow(shadow, channel) / block_name(sequence)
    refuse_link(folder)
    if not folder.is_dir():
        raise HeadwaterError(f"The program did not write its output for {channel}.", hint="It has to write a folder at the path it gets.")
    found: dict[str, tuple[int, int]] = {}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(here) / name
            refuse_unreadable_name(str(path))
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                found[str(path.relative_to(folder.parent))] = (status.st_size, status.st_mtime_ns)
                sync(path)
            elif not stat.S_ISDIR(status.st_mode):
                raise InvalidInputError(f"The program wrote {path}, which is a link or no file.", hint="A block has files only.")
        sync(Path(here))
    sync(folder.parent)
    return found


def refuse_other_output(shadow: Path, channels: Mapping[Path, int]) -> None:
    """Check that a program wrote only its declared outputs to the shadow.

    Raises:
        HeadwaterError: the program wrote another file, which would be lost.
    """
    blocks = {in_shadow(shadow, channel) / block_name(sequence) for channel, sequence in channels.items()}
    above = {parent for block in blocks for parent in block.parents}
    for here, folders, files in os.walk(shadow):
        folders[:] = [name for name in folders if Path(here) / name not in blocks]
        others = [name for name in files if not name.startswith((".", "_"))]
        others += [name for name in folders if Path(here) / name not in above and not name.startswith(("_temporary", "."))]
        if others:
            place = Path(here, others[0]).relative_to(shadow)
            raise HeadwaterError(
                f"The program wrote {place}, which is no output of the task.", hint="Name it as an output of the task, so that it is kept."
            )


def plan_move(shadow: Path, channel: Path, name: str, sequence: int, mode: Production, known: Iterable[int]) -> Move:
    """Return the move that puts a block into its channel. `known` are the numbers of the blocks in the channel.

    Raises:
        SourceChangedError: the channel contains files that are not from the workflow, or is a link by now.
    """
    refuse_link(channel)
    visible = {entry.name for entry in channel.iterdir() if not entry.name.startswith((".", "_"))} if channel.exists() else set()
    if other := sorted(visible - {block_name(number) for number in known}):
        raise SourceChangedError(
            f"{channel / other[0]} is not from this workflow, so nothing was committed.",
            hint="Move it elsewhere: a channel has one writer.",
        )
    source = in_shadow(shadow, channel)
    if mode is Production.BASE and channel.exists():
        _try_exchange(shadow)
        return Move(name, MoveKind.EXCHANGE, str(source), str(channel))
    return Move(name, MoveKind.PLACE, str(source / block_name(sequence)), str(channel / block_name(sequence)))


def _try_exchange(shadow: Path) -> None:
    """Check before the commit that the file system can exchange folders. Raises like `exchange_folders`."""
    one, other = shadow / ".one", shadow / ".other"
    for folder in (one, other):
        folder.mkdir()
    exchange_folders(one, other)
    for folder in (one, other):
        folder.rmdir()


def make_move(move: Move, sequence: int) -> None:
    """Move a block into its channel, and flush the move to disk. A move that was already made is not repeated.

    Raises:
        OSError: the file system refuses.
        SourceChangedError: a folder is a link by now. The move can be made when the folder is back.
    """
    source, target = Path(move.source), Path(move.target)
    if move.kind is MoveKind.EXCHANGE:
        refuse_link(target)
        if not (target / block_name(sequence)).exists():
            shutil.copymode(target, source)
            exchange_folders(source, target)
    else:
        refuse_link(target.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_folder(target.parent) as channel:
            if target.name not in os.listdir(channel):  # noqa: PTH208 - of a descriptor
                sync(target.parent.parent)
                refuse_link(source)
                source.rename(f"/proc/self/fd/{channel}/{target.name}" if _HAS_PROC else target)
    sync(target.parent)
    sync(source.parent)


def remove_shadow(shadow: Path, kept: Iterable[Path] = ()) -> None:
    """Remove a shadow, except for the folders in `kept`."""
    if not shadow.name.startswith(PREFIX) or shadow.is_symlink():
        return
    keep = {str(folder) for folder in kept}
    if not keep:
        shutil.rmtree(shadow, ignore_errors=True)
        return
    above = {str(parent) for folder in kept for parent in Path(folder).parents}
    for here, folders, files in os.walk(shadow):
        for name in files:
            Path(here, name).unlink(missing_ok=True)
        for name in list(folders):
            path = str(Path(here) / name)
            if path in keep or path not in above:
                folders.remove(name)
                if path not in keep:
                    shutil.rmtree(path, ignore_errors=True)
