"""XML files: a record is an element with the row's tag, in the order of the file. Values are shown, but not used in computations."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import choose_rows, load_records
from headwater.graph.files.lines import read_whole_text
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_ROW = "ROW"  # the default tag of a row
_DECLARED = re.compile(r"<\?xml[^>]*encoding=[\"']([^\"']*)")
_DEEPEST = 100  # levels of nested elements


class Xml(Format):
    """The XML format. One task reads the whole file, so a reference counts the elements of the file."""

    counts_from_file = True
    has_columns = False  # a reader's options decide which elements and attributes are columns, and their names

    @property
    def unreadable_reason(self) -> str | None:
        return None

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        return self.name, _lower_options(options).get("rowtag", _ROW)

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, database
        return len(_find_elements(file, shape))

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        if columns is not None and list(columns):
            raise UnsupportedError("What Spark read in a file of XML is not certain: nothing is computed from it.")
        lower_options = _lower_options(dict(shape.options))
        prefix, value_tag = lower_options.get("attributeprefix", "_"), lower_options.get("valuetag", "_VALUE")

        def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
            elements = _find_elements(file, shape)
            rows = choose_rows(rows, len(elements))
            values = [_make_value(elements[row], prefix, value_tag) for row in rows.tolist()]
            records = [value if isinstance(value, dict) else {value_tag: value or None} for value in values]
            texts = [[_make_text(record.get(name)) for record in records] for name, _ in shape.columns]
            return rows, pa.table([pa.array(column, pa.string()) for column in texts], names=[str(place) for place in range(len(texts))])

        return load_records(database, shape, files, wanted_rows, load)


def _lower_options(options: Mapping[str, Any]) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in options.items()}


def _find_elements(file: ReadFile, shape: Shape) -> list[ET.Element]:
    """Return the elements that are records.

    Raises:
        UnsupportedError: Spark's choice of elements is not certain.
    """
    lower_options, name = _lower_options(dict(shape.options)), file.stored.name
    tag, text = lower_options.get("rowtag", _ROW), read_whole_text(file.stored)
    if {lower_options.get("charset", lower_options.get("encoding", "utf-8")).lower(), *map(str.lower, _DECLARED.findall(text[:1000]))} != {
        "utf-8"
    }:
        raise UnsupportedError(f"{name} is XML in another encoding than UTF-8; its records are not read.")
    if "<!DOCTYPE" in text:
        raise UnsupportedError(f"{name} declares a type of document; what Spark read of its entities is not certain.")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without a DOCTYPE there are no entities that grow
    except (ET.ParseError, ValueError) as error:
        raise UnsupportedError(f"{name} is not one document of XML; which records Spark read of it is not certain.") from error
    elements = list(root.iter(tag))
    if any(name_text.startswith("{") for element in root.iter() for name_text in (str(element.tag), *element.attrib)):
        raise UnsupportedError(f"{name} has namespaces; how Spark named its elements is not certain.")
    nested = any(inner is not element for element in elements for inner in element.iter(tag))
    tag_count = len(re.findall(rf"<{re.escape(tag)}(?=[\s/>])", text))  # a tag in a comment or in a text section is not an element
    if nested or tag_count != len(elements):
        raise UnsupportedError(f"Which elements {tag} of {name} Spark took for records is not certain: some lie in others, or in comments.")
    return elements


def _make_value(element: ET.Element, prefix: str, value_tag: str, depth: int = 0) -> Any:
    """Return an element as text. With attributes or children, return a mapping of their names; children of one name make a list."""
    if depth > _DEEPEST:
        raise UnsupportedError("An element of XML lies too deep to be shown.")
    text = (element.text or "").strip()
    value_by_name: dict[str, Any] = {prefix + name: value for name, value in element.attrib.items()}
    for child in element:
        value = _make_value(child, prefix, value_tag, depth + 1)
        if child.tag in value_by_name:
            value_by_name[child.tag] = [
                *(value_by_name[child.tag] if isinstance(value_by_name[child.tag], list) else [value_by_name[child.tag]]),
                value,
            ]
        else:
            value_by_name[child.tag] = value
    if not value_by_name:
        return text
    return {**value_by_name, value_tag: text} if text else value_by_name


def _make_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
