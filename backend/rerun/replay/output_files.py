"""The data files of a dataset, their formats and the values of their partition folders, as Spark sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from urllib.parse import unquote

from headwater.errors import UnsupportedError
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.files.compression import is_packed
from headwater.graph.records import Look

NULL = "__HIVE_DEFAULT_PARTITION__"
_KINDS = {"DATE": re.compile(r"\d{4}-\d{2}-\d{2}"), "BIGINT": re.compile(r"-?\d{1,18}")}


class Content(Enum):
    """The content of a data file."""

    PARQUET = auto()
    ORC = auto()
    CSV = auto()
    JSON = auto()
    TEXT = auto()


_CONTENTS = {
    ".parquet": Content.PARQUET, ".orc": Content.ORC, ".csv": Content.CSV, ".json": Content.JSON, ".txt": Content.TEXT, "": Content.TEXT,
}  # by suffix  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A data file. `inner` is its path in the dataset, empty if the dataset is a file. `partitions` are names and texts of its folders.

    Of a table's file, `deleted` are the deleted rows, by index, and `names` are the table's names of columns by their names in the file.
    """

    path: str
    inner: str
    content: Content
    partitions: tuple[tuple[str, str], ...]
    deleted: tuple[int, ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed as a whole."""
        return is_packed(self.path.rpartition("/")[2])


def list_output_files(folder: Path, look: Look, places: Sequence[str]) -> list[OutputFile]:
    """Return the data files of a dataset at some places in it, by path. The dataset may be a file.

    Raises:
        UnsupportedError: there is no data file, or the format of one is not known.
    """
    real = look.path(str(folder))
    if real.is_file():
        return [_describe(real, real.parent, "")]
    paths = {path for place in places for path in (real / place).rglob("*") if path.is_file() or path.is_symlink()}
    files = [_describe(path, real, str(path.relative_to(real))) for path in sorted(paths) if not is_hidden(path.relative_to(real))]
    if not files:
        named = ", ".join(str(folder / place) for place in places[:5])
        raise UnsupportedError(f"{named} holds no data file that could be compared.")
    return files


def is_hidden(path: Path) -> bool:
    """Whether Spark ignores a file of a dataset. A partition folder such as `_day=1` is data."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.parts)


def partition_columns(files: Sequence[OutputFile]) -> dict[OutputFile, str]:
    """Return SQL of the partition columns of each file: `, CAST('2' AS BIGINT) AS "day"`. A column has one type in all files."""
    texts: dict[str, list[str]] = {}
    for file in files:
        for name, text in file.partitions:
            texts.setdefault(name, []).append(text)
    kinds = {name: _kind(values) for name, values in texts.items()}
    return {file: "".join(f", {_constant(text, kinds[name])} AS {quoted(name)}" for name, text in file.partitions) for file in files}


def _describe(path: Path, folder: Path, inner: str) -> OutputFile:
    name = path.with_suffix("").name if is_packed(path.name) else path.name
    suffix = Path(name).suffix
    if suffix not in _CONTENTS:
        raise UnsupportedError(f"{path} is no Parquet, ORC, CSV, JSON or text file, so {folder} cannot be compared.")
    named = [part.partition("=") for part in path.relative_to(folder).parts[:-1] if "=" in part]
    return OutputFile(str(path), inner, _CONTENTS[suffix], tuple((unquote(name), unquote(value)) for name, _, value in named))


def _kind(values: Sequence[str]) -> str:
    known = [value for value in values if value != NULL]
    return next((kind for kind, form in _KINDS.items() if known and all(map(form.fullmatch, known))), "VARCHAR")


def _constant(value: str, kind: str) -> str:
    return f"NULL::{kind}" if value == NULL else f"CAST({literal(value)} AS {kind})"
