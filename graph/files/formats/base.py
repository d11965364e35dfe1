"""What a file format tells of its records. `Format` itself is a format that cannot be read here.

For traces, which know records by file and number. A format says how a reference of a capture becomes the number of a record in its file,
reads records by number as Spark read them, says where that is not certain, and which columns of a reader hold what a writer wrote.
It never guesses: where a value may be another than Spark's, it raises.
"""

# ruff: noqa: ARG002 - a format that is not known here has no use for what others are given

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.errors import UnsupportedError
from headwater.graph.files.column_names import ColumnNames
from headwater.graph.records import FileBlock, Look
from headwater.graph.records.decode import Longs

if TYPE_CHECKING:
    from headwater.graph.associations import Sink, Source
    from headwater.graph.duck.memory_tables import Database
    from headwater.graph.files.reader import Reader, ReadFile, Wanted
    from headwater.graph.files.row_ids import TableRows
    from headwater.graph.files.shapes import Shape
    from headwater.graph.files.versions import TableVersion
    from headwater.graph.storage.row_keys import KeyColumn


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a dataset as it is now. `left_out` are rows of it, ascending, that the dataset does not hold any more."""

    block: FileBlock
    partition: Mapping[str, str | None] = field(default_factory=dict)
    left_out: Longs | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """The files of a dataset as it is now; `label` is the snapshot that has them, where it is taken for the current one."""

    files: Sequence[Listed]
    label: str | None = None


class Format:
    """A file format, by the name that manifests have for it."""

    counts_from_file = False  # a reference counts records from the beginning of the file; else from the beginning of its split
    spans_ordinals = False  # a source is one file, and a reference less the file's ordinal is the number of a record, of up to 63 bits
    has_gaps = False  # numbers are keys: a record of any number may have been there, and be there no more
    names_columns = False  # a file names its own columns; else they are the schema's, by place
    has_columns = True  # else a record is a text, or bytes, in which columns may stand that no name tells
    in_files = True  # there is a file, which may change
    counts_bytes = False  # records are ranges of bytes, which others may take otherwise
    shares_files = False  # several captures may have written records of one file as it is
    has_snapshots = False  # a dataset is a table, whose folder also holds files and records that are not the table's any more
    is_table = False  # a dataset is a table, whose metadata tell its files, and may number its rows (`table_rows`)
    gone: str | None = None  # why a file of a dataset may be gone though the dataset is there
    spark_gives_places = False  # Spark's reader gives the number of each row in its file

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def unreadable(self) -> str | None:
        """Why its records can never be read, wherever they lie; None where they can."""
        return f"records of the format {self.name} are not readable here"

    @property
    def shaped_by_file(self) -> bool:
        """Whether each file of a dataset may be cut into records in a way of its own, which the file itself does not state."""
        return self.in_files and not self.names_columns and not self.is_table and not self.spans_ordinals

    def tells_columns(self, shape: Shape) -> bool:
        """Whether names of a shape's columns tell what stands in them; else one may hold a whole record, or a column of another name."""
        given = {name.lower(): value for name, value in shape.options}
        whole = given.get("columnnameofcorruptrecord", "_corrupt_record").lower()
        return self.has_columns and not any(name.lower() in (whole, "_corrupt_record") for name, _ in shape.columns)

    def column_names(self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        """For each file, by which names its values are known, whatever a manifest says. Never raises for what a file holds."""
        return [ColumnNames(self.tells_columns(shape))] * len(files)

    def key_columns(self, shape: Shape) -> Sequence[KeyColumn]:
        """The columns of the key that a number stands for, where runs recorded keys; none: a number is a number."""
        return ()

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        """What decides which number a record has: whoever reads a file with an equal one counts alike.

        Raises:
            UnsupportedError: it cannot be told.
        """
        del options
        return self.name

    def listed(self, look: Look, path: str, shape: Shape) -> list[Listed] | None:
        """The files of a dataset at a path as they are now, by path; None where there is nothing.

        Raises:
            UnsupportedError: they may not be read, or what says which they are is not understood.
            SourceUnavailableError: their storage does not say.
        """
        del shape
        found = look.listed(path)
        return None if found is None else [Listed(block) for block in found]

    def held(self, look: Look, path: str, shape: Shape) -> Held | None:
        """The files of a dataset at a path as it is now; of a table whose catalog knows that alone, those of its newest snapshot.

        None where there is nothing. Raises as `listed` and `version` do.
        """
        found = self.listed(look, path, shape)
        return None if found is None else Held(found)

    def version(self, look: Look, path: str, shape: Shape, *, name: str | None = None, until: int | None = None) -> TableVersion | None:
        """A table at a path as it was, at a version that it calls so or at an instant (ms); None where there is no such table.

        Raises:
            NotFoundError: the table has no such version, or files of it are gone.
            UnsupportedError: they may not be read, or what says which they are is not understood.
            SourceUnavailableError: their storage does not say.
            OSError: they cannot be read.
        """
        return None

    def table_log(self, path: str) -> str | None:
        """The folder of a table's metadata, each change of which changes the files in it; None where the format has no tables."""
        del path
        return None

    def table_rows(self, look: Look, path: str, log: Sequence[FileBlock]) -> TableRows | None:
        """The files that a table at a path has and had, with the numbers of their rows; None where it is no table.

        `log` are the files in the folder of its metadata.

        Raises:
            UnsupportedError: they may not be read, or what says which they are is not understood.
            SourceUnavailableError: their storage does not say.
            OSError: they cannot be read.
        """
        del look, path, log
        return None

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        """The number of the first record of the split that begins at byte `start`.

        Raises:
            UnsupportedError: it cannot be told.
            OSError: the file cannot be read.
        """
        raise self._refused()

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        """How many records a file has. Raises as `first_of_split` does."""
        raise self._refused()

    def line_numbers(self, reader: Reader, file: ReadFile, shape: Shape) -> Longs | None:
        """The line, from 1, of each record; None where records are no lines. Raises as `first_of_split` does."""
        del reader, file, shape
        return None

    def byte_ranges(self, reader: Reader, file: ReadFile, shape: Shape) -> tuple[Longs, Longs] | None:
        """The first byte of each record, and that behind its last, with its end of line; None where records are no lines.

        Raises as `first_of_split` does.
        """
        del reader, file, shape
        return None

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """A query of records (`__file`, `__row`, `__line`, the dataset's columns), and its parameters.

        Without `wanted`, of all records. `columns` are those that something is computed from; no other has to be read.

        Raises:
            UnsupportedError: records of the format cannot be read, or it is not certain what Spark read in one of `columns`.
        """
        raise self._refused()

    def shape_of_both(self, known: Shape, other: Shape) -> Shape:
        """How a file is read that two captures met: as the first did, where that is no matter."""
        del other
        return known

    def check_names(self, names: Iterable[str]) -> None:
        """See that no column hides the place of the records; `names` are those that reading them gave.

        Raises:
            UnsupportedError: one does.
        """

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        """Check columns (name → Spark's type) from which something will be computed; those that no file has, which Spark read as null.

        Raises:
            Untranslatable: the files may hold other values than Spark read of them.
        """
        from headwater.graph.duck.sql import Untranslatable

        del database, shape, files
        defaulted = {column.name.lower() for column in source.columns if column.default}
        if filled := sorted(defaulted & {name.lower() for name in attributes}):
            raise Untranslatable(f"{filled[0]}, which has a default for what a file lacks,")
        return set()

    def own_forms(self, options: Mapping[str, Any]) -> Sequence[str]:
        """The options of a reader by which values are written in a form of the program's own."""
        del options
        return ()

    def names_at_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Columns of a source (lower case) as `sink`, which wrote its files, calls them; None: any of them.

        Of a format that says nothing else, a record may hold all that was written.
        """
        del source, sink, names
        return None

    def _refused(self) -> UnsupportedError:
        return UnsupportedError(
            f"Records of the format {self.name} are not readable here.", hint="Ask for an answer without values, or name records by row."
        )
