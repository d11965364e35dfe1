"""XML: a record is an element of the row's tag, in the order of the file. Values are shown; nothing is computed from them."""

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
from headwater.graph.files.formats.loaded_records import chosen, loaded
from headwater.graph.files.lines import text_of
from headwater.graph.files.reader import Reader, ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_ROW = "ROW"  # the tag of a row unless an option names it
_DECLARED = re.compile(r"<\?xml[^>]*encoding=[\"']([^\"']*)")
_DEEPEST = 100  # elements within each other


class Xml(Format):
    """A file is read by one task: a reference counts the elements of the file."""

    counts_from_file = True
    has_columns = False  # a reader's options decide which elements and attributes are columns, and their names

    @property
    def unreadable(self) -> str | None:
        return None

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        return self.name, _given(options).get("rowtag", _ROW)

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, database
        return len(_elements(file, shape))

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        if columns is not None and list(columns):
            raise UnsupportedError("What Spark read in a file of XML is not certain: nothing is computed from it.")
        given = _given(dict(shape.options))
        prefix, own = given.get("attributeprefix", "_"), given.get("valuetag", "_VALUE")

        def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
            elements = _elements(file, shape)
            rows = chosen(rows, len(elements))
            found = [_value(elements[row], prefix, own) for row in rows.tolist()]
            records = [one if isinstance(one, dict) else {own: one or None} for one in found]
            texts = [[_text(record.get(name)) for record in records] for name, _ in shape.columns]
            return rows, pa.table([pa.array(column, pa.string()) for column in texts], names=[str(place) for place in range(len(texts))])

        return loaded(database, shape, files, wanted, load)


def _given(options: Mapping[str, Any]) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in options.items()}


def _elements(file: ReadFile, shape: Shape) -> list[ET.Element]:
    """The elements that are records.

    Raises:
        UnsupportedError: which elements Spark took for records is not certain.
    """
    given, name = _given(dict(shape.options)), file.stored.name
    tag, text = given.get("rowtag", _ROW), text_of(file.stored)
    if {given.get("charset", given.get("encoding", "utf-8")).lower(), *map(str.lower, _DECLARED.findall(text[:1000]))} != {"utf-8"}:
        raise UnsupportedError(f"{name} is XML in another encoding than UTF-8; its records are not read.")
    if "<!DOCTYPE" in text:
        raise UnsupportedError(f"{name} declares a type of document; what Spark read of its entities is not certain.")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without a DOCTYPE there are no entities that grow
    except (ET.ParseError, ValueError) as error:
        raise UnsupportedError(f"{name} is not one document of XML; which records Spark read of it is not certain.") from error
    found = list(root.iter(tag))
    if any(one.startswith("{") for element in root.iter() for one in (str(element.tag), *element.attrib)):
        raise UnsupportedError(f"{name} has namespaces; how Spark named its elements is not certain.")
    nested = any(inner is not element for element in found for inner in element.iter(tag))
    written = len(re.findall(rf"<{re.escape(tag)}(?=[\s/>])", text))  # in a comment, or a section of text, it is no element
    if nested or written != len(found):
        raise UnsupportedError(f"Which elements {tag} of {name} Spark took for records is not certain: some lie in others, or in comments.")
    return found


def _value(element: ET.Element, prefix: str, own: str, depth: int = 0) -> Any:
    """An element as its text, or, where it has attributes or children, as a value by name; of children of one name a list."""
    if depth > _DEEPEST:
        raise UnsupportedError("An element of XML lies too deep to be shown.")
    text = (element.text or "").strip()
    made: dict[str, Any] = {prefix + name: value for name, value in element.attrib.items()}
    for child in element:
        value = _value(child, prefix, own, depth + 1)
        if child.tag in made:
            made[child.tag] = [*(made[child.tag] if isinstance(made[child.tag], list) else [made[child.tag]]), value]
        else:
            made[child.tag] = value
    if not made:
        return text
    return {**made, own: text} if text else made


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
