"""Maps the types of all producers to a few families of types, as other catalogs need them."""

from __future__ import annotations

import re
from enum import StrEnum


class Family(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    UNKNOWN = "unknown"


_WORDS = {
    Family.BOOLEAN: "bool boolean bit",
    Family.INTEGER: "byte tinyint short smallint int2 int int4 int16 int32 integer mediumint serial",
    Family.LONG: "long bigint int8 int64 bigserial",
    Family.FLOAT: "float real float4 float32",
    Family.DOUBLE: "double float8 float64",
    Family.DECIMAL: "decimal numeric number dec",
    Family.STRING: "string varchar char character text nvarchar nchar bpchar clob uuid json jsonb varchar2 name",
    Family.BINARY: "binary bytes varbinary blob bytea",
    Family.DATE: "date",
    Family.TIME: "time",
    Family.TIMESTAMP: "timestamp timestamptz timestamp_ntz timestamp_ltz datetime",
    Family.ARRAY: "array list",
    Family.MAP: "map",
    Family.STRUCT: "struct record row",
}
_FAMILIES = {word: family for family, words in _WORDS.items() for word in words.split()}


def family_of(stated: str) -> Family:
    """Return the family of a type by its first word. For example, `decimal(10,2)` is a decimal. Unknown words give `UNKNOWN`."""
    word = re.match(r"[a-z0-9_]*", stated.strip().lower())
    return _FAMILIES.get(word[0] if word else "", Family.UNKNOWN)
