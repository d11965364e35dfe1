"""The interface of a file format. The class `Format` itself is a format that cannot be read here.

Traces identify records by file and number. A format turns a reference of a capture into the number of a record in its file, reads records
by number as Spark read them, and reports uncertainty. It also knows which columns of a reader contain the values that a writer wrote. A
format never guesses: it raises if a value may differ from Spark's.
"""

# ruff: noqa: ARG002 - a format that is not known here has no use for what others are given

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import UnsupportedError
from headwater.graph.files.column_names import ColumnNames
from headwater.graph.files.copies import HINT
from headwater.graph.records import FileBlock, Look
from headwater.graph.records.decode import Longs

if TYPE_CHECKING:
    from headwater.graph.associations import Sink, Source
    from headwater.graph.duck.memory_tables import Database
    from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
    from headwater.graph.files.row_ids import TableRows
    from headwater.graph.files.shapes import Shape
    from headwater.graph.storage.row_keys import KeyColumn


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A present file of a dataset. `deleted_rows` are its deleted rows, ascending."""

    block: FileBlock
    partition: Mapping[str, str | None] = field(default_factory=dict)
    deleted_rows: Longs | None = None


@dataclass(frozen=True, slots=True)
class TableContent:
    """The present files of a dataset. `label` is their snapshot, if it is only assumed to be the current one."""

    files: Sequence[ListedFile]
    label: str | None = None


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table in the table's own metadata: its files, and their deleted rows.

    `label` is the format's name: a number, or the id of a snapshot. `made_at` is in milliseconds since the epoch.
    """

    label: str
    made_at: int
    files: Sequence[ListedFile]


class Format:
    """A file format with its name in manifests."""

    counts_from_file = False  # a reference counts records from the beginning of the file, otherwise from the beginning of its split
    spans_ordinals = False  # a source is one file; a reference minus the file's ordinal is the number of a record, up to 63 bits
    has_gaps = False  # numbers are keys: every number may have had a record, which may be deleted
    names_columns = False  # a file names its columns, otherwise they are the schema's by position
    has_columns = True  # otherwise a record is a text or bytes, which may contain columns without a name
    in_files = True  # records are in files, which may change
    counts_bytes = False  # records are ranges of bytes, and other programs may use other ranges
    shares_files = False  # several captures may have written records of one file in its current state
    has_snapshots = False  # a dataset is a table, and its folder also contains files and records that the table has deleted
    is_table = False  # a dataset is a table; its metadata list its files and may number its rows (`read_table_rows`)
    missing_file_reason: str | None = None  # why a file may be missing although its dataset exists
    spark_gives_places = False  # Spark's reader returns the number of each row in its file

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def unreadable_reason(self) -> str | None:
        """Return the reason why records of this format can never be read. None if they can be read."""
        return f"records of the format {self.name} are not readable here"

    @property
    def shaped_by_file(self) -> bool:
        """Return whether the boundaries of records depend on options that the file does not state, and that may differ between files."""
        return self.in_files and not self.names_columns and not self.is_table and not self.spans_ordinals

    def has_reliable_columns(self, shape: Shape) -> bool:
        """Return whether the names of a shape's columns describe their values. If not, a column may contain a whole record."""
        lower_options = {name.lower(): value for name, value in shape.options}
        record_column = lower_options.get("columnnameofcorruptrecord", "_corrupt_record").lower()
        return self.has_columns and not any(name.lower() in (record_column, "_corrupt_record") for name, _ in shape.columns)

    def find_column_names(self, reader: FileReader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        """Return for each file the names of its columns, as the file states them. A damaged file raises no error."""
        return [ColumnNames(self.has_reliable_columns(shape))] * len(files)

    def list_key_columns(self, shape: Shape) -> Sequence[KeyColumn]:
        """Return the key columns of a table whose runs recorded keys. Empty if the row number itself identifies the row."""
        return ()

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        """Return the options that determine the numbers of records. Readers with equal options number records alike.

        Raises:
            UnsupportedError: the numbering cannot be determined.
        """
        del options
        return self.name

    def list_files(self, look: Look, path: str, shape: Shape) -> list[ListedFile] | None:
        """Return the present files of a dataset at a path, by path. None if nothing is there.

        Raises:
            UnsupportedError: the files may not be read, or the metadata that list them have unknown features.
            SourceUnavailableError: the storage does not answer.
        """
        del shape
        blocks = look.listed(path)
        return None if blocks is None else [ListedFile(block) for block in blocks]

    def find_content(self, look: Look, path: str, shape: Shape) -> TableContent | None:
        """Return the present files of a dataset. If only a table's catalog knows them, return the files of the newest snapshot.

        None if nothing is at the path. Raises as `list_files` and `find_version` do.
        """
        files = self.list_files(look, path, shape)
        return None if files is None else TableContent(files)

    def find_version(
        self, look: Look, path: str, shape: Shape, *, name: str | None = None, latest_instant: int | None = None
    ) -> TableVersion | None:
        """Return a table at a version or at an instant (ms). None if there is no such table.

        Raises:
            NotFoundError: the table has no such version, or files of it were deleted.
            UnsupportedError: the files may not be read, or the metadata that list them have unknown features.
            SourceUnavailableError: the storage does not answer.
            OSError: the files cannot be read.
        """
        return None

    def find_table_log(self, path: str) -> str | None:
        """Return the folder of a table's metadata, whose files change with the table. None if the format has no tables."""
        del path
        return None

    def read_table_rows(self, look: Look, path: str, log: Sequence[FileBlock]) -> TableRows | None:
        """Return the present and former files of a table, with their row numbers. None if there is no table.

        `log` are the files in its metadata folder.

        Raises:
            UnsupportedError: the files may not be read, or the metadata that list them have unknown features.
            SourceUnavailableError: the storage does not answer.
            OSError: the files cannot be read.
        """
        del look, path, log
        return None

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        """Return the number of the first record in the split that begins at byte `start`.

        Raises:
            UnsupportedError: the number cannot be determined.
            OSError: the file cannot be read.
        """
        raise self._make_refusal()

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        """Return the number of records in a file. Raises as `find_first_of_split` does."""
        raise self._make_refusal()

    def check_copy(self, shape: Shape, file: ReadFile) -> None:
        """Check that `write_copy` can write a copy of a file.

        Raises:
            UnsupportedError: it cannot, because of its format.
        """
        raise UnsupportedError(f"Records of {file.stored.name} ({self.name}) cannot be taken out of the file.", hint=HINT)

    def write_copy(self, reader: FileReader, shape: Shape, file: ReadFile, source: Path, target: Path, rows: Sequence[int]) -> int:
        """Write a copy of the local file `source` without some records, and return the number of its records.

        Raises:
            UnsupportedError: the other records cannot be written as they are. The copy may be there in part.
        """
        self.check_copy(shape, file)
        raise self._make_refusal()

    def find_line_numbers(self, reader: FileReader, file: ReadFile, shape: Shape) -> Longs | None:
        """Return the 1-based line of each record. None if records are not lines. Raises as `find_first_of_split` does."""
        del reader, file, shape
        return None

    def find_byte_ranges(self, reader: FileReader, file: ReadFile, shape: Shape) -> tuple[Longs, Longs] | None:
        """Return the first byte of each record, and the byte after its line end. None if records are not lines.

        Raises as `find_first_of_split` does.
        """
        del reader, file, shape
        return None

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """Return a query of records (`__file`, `__row`, `__line`, the dataset's columns), and its parameters.

        Without `wanted_rows`, the query returns all records. `columns` are the columns that something is computed from; other columns need
        not be read.

        Raises:
            UnsupportedError: records of the format cannot be read, or Spark's values in one of `columns` are not certain.
        """
        raise self._make_refusal()

    def merge_shapes(self, known_shape: Shape, other_shape: Shape) -> Shape:
        """Return the shape of a file that two captures used. The first shape stays, unless the difference matters."""
        del other_shape
        return known_shape

    def check_names(self, names: Iterable[str]) -> None:
        """Check that no column of a result has the name of a place column (such as `__row`).

        Raises:
            UnsupportedError: a column has such a name.
        """

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        """Check columns (name → Spark's type) before a computation. Return those that no file has, which Spark reads as null.

        Raises:
            Untranslatable: the files may have other values than Spark read.
        """
        from headwater.graph.duck.sql import Untranslatable

        del database, shape, files
        defaulted = {column.name.lower() for column in source.columns if column.default}
        if defaulted_names := sorted(defaulted & {name.lower() for name in attributes}):
            raise Untranslatable(f"{defaulted_names[0]}, which has a default for what a file lacks,")
        return set()

    def list_own_forms(self, options: Mapping[str, Any]) -> Sequence[str]:
        """Return the names of the reader's options that define custom forms of values, such as a date format."""
        del options
        return ()

    def translate_to_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Return the names of a source's columns (lower case) in `sink`, which wrote its files. None stands for any column.

        By default, a record may contain everything that was written.
        """
        del source, sink, names
        return None

    def _make_refusal(self) -> UnsupportedError:
        return UnsupportedError(
            f"Records of the format {self.name} are not readable here.", hint="Ask for an answer without values, or name records by row."
        )
