"""Compares the type that a contract demands with the type that a producer states, such as `decimal(10,2)` or `VARCHAR(20)`."""

from __future__ import annotations

_INTEGERS = (
    "int", "integer", "long", "bigint", "short", "smallint", "byte", "tinyint", "int2", "int4", "int8", "int16", "int32", "int64",
    "mediumint", "serial", "bigserial",
)  # fmt: skip
_NUMBERS = ("decimal", "numeric", "number", "float", "double", "real", "float4", "float8", "float32", "float64", "dec", "money")
_TEXTS = ("string", "varchar", "char", "text", "character", "nvarchar", "nchar", "bpchar", "clob", "uuid", "enum", "varchar2")
_LOGICAL: dict[str, tuple[str, ...]] = {
    "string": _TEXTS,
    "integer": _INTEGERS,
    "number": (*_INTEGERS, *_NUMBERS),
    "boolean": ("boolean", "bool", "bit"),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamp_ntz", "timestamp_ltz", "timestamptz", "datetime", "datetime2"),
    "time": ("time", "timetz"),
    "object": ("struct", "map", "object", "record", "row", "json", "jsonb", "variant"),
    "map": ("map",),
    "array": ("array", "list", "set"),
}
_KNOWN = frozenset(word for words in _LOGICAL.values() for word in words) | {"binary", "blob", "bytes", "bytea", "void", "null", "interval"}
_SAME = {
    "integer": "int", "int32": "int", "long": "bigint", "int64": "bigint", "short": "smallint", "int16": "smallint", "byte": "tinyint",
    "numeric": "decimal", "dec": "decimal", "real": "float", "float4": "float", "float32": "float", "float8": "double",
    "float64": "double", "bool": "boolean", "text": "string",
}  # fmt: skip
_AMBIGUOUS = frozenset({"int2", "int4", "int8", "number", "datetime", "timestamp"})  # systems disagree about their sizes or time zones


def fits_logical(stated: str, logical: str) -> bool | None:
    """Return whether a producer's type is a logical type of the standard, or None if the type is not known.

    >>> fits_logical("decimal(10,2)", "number"), fits_logical("bigint", "string"), fits_logical("geography", "string")
    (True, False, None)
    """
    word, wanted = _word(stated), _LOGICAL.get(logical)
    return None if wanted is None or word not in _KNOWN else word in wanted


def fits_physical(stated: str, physical: str) -> bool | None:
    """Return whether a producer's type is a physical type, or None if that is not known. Spark forgets the length of a text.

    >>> fits_physical("long", "BIGINT"), fits_physical("int", "BIGINT"), fits_physical("string", "VARCHAR(2)")
    (True, False, None)
    """
    if _canonical(stated) == _canonical(physical):
        return True
    words = (_word(stated), _word(physical))
    if all(word in _TEXTS for word in words) or not all(word in _KNOWN - _AMBIGUOUS for word in words):
        return None
    return False


def _word(text: str) -> str:
    """Return the word before the parameters of a type, in lower case."""
    return text.strip().lower().partition("(")[0].partition("<")[0].strip()


def _canonical(text: str) -> str:
    word, spaceless = _word(text), "".join(text.lower().split())
    return _SAME.get(word, word) + spaceless[len("".join(word.split())) :]
