"""The sources of the SparkContext methods that read files.

Loaded with the hooks at the start of every program, so it imports nothing else of this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FileSource:
    """A source of files. `format` is that of manifests. If `whole`, each file is one record; otherwise a record has a number in a split."""

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Mapping[str, str]] = ()
    whole: bool = False

    @property
    def lines(self) -> bool:
        return self.format == "text" and not self.whole


LINES = FileSource("text")
_PATH = {"name": "path", "type": "string"}
_SOURCES = {
    "textFile": LINES,
    "wholeTextFiles": FileSource("text", {"wholetext": "true"}, whole=True),
    "binaryFiles": FileSource("binaryFile", columns=[_PATH, {"name": "length", "type": "bigint"}], whole=True),
    "binaryRecords": FileSource("binaryRecords"),
    "sequenceFile": FileSource("sequence"),
    "pickleFile": FileSource("pickle"),
}
_CLASSES = {"TextInputFormat": LINES, "SequenceFileInputFormat": FileSource("sequence")}
_INPUT_FORMATS = {
    "hadoopFile": 1,
    "newAPIHadoopFile": 1,
    "hadoopRDD": 0,
    "newAPIHadoopRDD": 0,
}  # position of the class among the arguments
NAMES = (*_SOURCES, *_INPUT_FORMATS)


def source_of(name: str, args: Sequence[Any], named: Mapping[str, Any]) -> FileSource:
    if name in _SOURCES:
        return _SOURCES[name]
    place = _INPUT_FORMATS[name]
    kind = str(args[place] if len(args) > place else named.get("inputFormatClass", "Hadoop"))
    return _CLASSES.get(kind.rpartition(".")[2], FileSource(kind)) if kind.startswith("org.apache.hadoop.map") else FileSource(kind)
