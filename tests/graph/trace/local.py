"""Local files for readers, opened for as long as the tests of a process run."""

from pathlib import Path

from headwater.graph.storage import LocalFile, OpenedFiles

OPENED = OpenedFiles()


def local(path: Path) -> LocalFile:
    """The file at a path, as it is now."""
    return LocalFile.now(path.resolve(), OPENED)
