"""Texts of a file's records as values of Spark's types, in DuckDB's SQL.

Two questions: what Spark read of a text, for an answer that shows it (`typed`: null where Spark read null), and whether that is certain
(`certain`), since what is computed from values decides which records are an answer. Spark parses with Java, which takes and refuses other
forms than DuckDB does: a decimal may have commas, a double be `3d` but not `nan`, a date not be `2024/05/01`.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.graph.duck.types import INTEGERS, duckdb_type

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_MODEST = {"DOUBLE": r"([0-9.]|[eE][+-]?[0-9]{1,2}$|[+-]){1,60}", "FLOAT": r"[0-9.+-]{1,30}"}  # far from where a number becomes infinite
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LOCAL = _DATE + r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONED = _LOCAL + r"(Z|[+-][0-9]{2}:[0-9]{2})"
_UTC = frozenset({"utc", "z", "gmt", "etc/utc", "etc/gmt", "uct", "etc/uct", "zulu", "etc/zulu", "universal", "+00:00"})


def typed(column: str, spark: str) -> str:
    """A text as a value of Spark's type; null where Spark would read null. Types that DuckDB lacks stay text."""
    kind = duckdb_type(spark)
    if kind is None or kind in ("VARCHAR", "BLOB"):
        return column
    if kind in INTEGERS:
        return f"TRY_CAST(CASE WHEN regexp_full_match({column}, '[+-]?[0-9]+') THEN {column} END AS {kind})"
    if kind == "BOOLEAN":
        return f"CASE lower({column}) WHEN 'true' THEN true WHEN 'false' THEN false END"
    if kind.startswith("DECIMAL"):  # Spark leaves commas out, wherever they stand
        digits = f"replace({column}, ',', '')"
        return f"TRY_CAST(CASE WHEN regexp_full_match({digits}, '{_NUMBER}') THEN {digits} END AS {kind})"
    if kind in ("FLOAT", "DOUBLE"):
        return _floating(f"trim({column}, {_blanks()})", column, kind)
    if kind == "DATE":
        return _date(f"trim({column}, {_blanks()})")
    if kind == "TIMESTAMPTZ":  # as an instant in UTC without a zone: so do Parquet's come
        return f"TRY_CAST({column} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    return f"TRY_CAST({column} AS {kind})"


def certain(column: str, spark: str, options: Mapping[str, str]) -> str:
    """A condition on a text that is not null: Spark surely read of it what `typed` gives. `options` are the reader's."""
    kind = duckdb_type(spark)
    if kind in ("VARCHAR", "BOOLEAN"):
        return "true"
    if kind in INTEGERS or (kind or "").startswith("DECIMAL"):
        return f"regexp_full_match({column}, '[\\x00-\\x7F]*')"  # Java knows more digits than ten
    if kind in ("FLOAT", "DOUBLE"):
        modest = f"regexp_full_match({column}, '{_MODEST[kind]}') AND regexp_full_match({column}, '{_NUMBER}')"
        return f"(({modest}) OR {column} IN ('NaN', 'nan', 'Inf', '-Inf', 'inf', '-inf', '') OR NOT regexp_matches({column}, '[0-9nN]'))"
    if kind == "DATE":
        return _or_nothing(column, _DATE)
    if kind == "TIMESTAMPTZ":
        utc = {name.lower(): value for name, value in options.items()}.get("timezone", "").lower() in _UTC
        return _or_nothing(column, f"{_LOCAL}|{_ZONED}" if utc else _ZONED)
    return _or_nothing(column, _LOCAL) if kind == "TIMESTAMP" else "false"


def _date(text: str) -> str:
    """As Spark casts text to a date: a year may stand alone, what follows a day is left out; other separators are refused."""
    day = f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}([ T].*)?') THEN regexp_extract({text}, '^[0-9-]+')"
    month = f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{1,2}}') THEN {text} || '-01'"
    year = f"regexp_full_match({text}, '[0-9]{{4}}') THEN {text} || '-01-01'"
    return f"TRY_CAST(CASE WHEN {day} WHEN {month} WHEN {year} END AS DATE)"


def _or_nothing(column: str, form: str) -> str:
    """Of that form, in a year of the calendar of today; or surely no date at all."""
    return f"((regexp_full_match({column}, '{form}') AND {column} >= '1600') OR NOT regexp_matches({column}, '[0-9]'))"


def _floating(trimmed: str, column: str, kind: str) -> str:
    """As Java parses, and Spark before it: which names of its own are exact, and Java's may stand between blanks and have a suffix."""
    number = f"regexp_replace({trimmed}, '[fFdD]$', '')"
    special = "".join(
        f" WHEN {column} = '{name}' THEN CAST('{value}' AS {kind})"
        for name, value in (("NaN", "nan"), ("Inf", "inf"), ("-Inf", "-inf"), ("Infinity", "inf"), ("-Infinity", "-inf"))
    )
    return f"(CASE{special} WHEN regexp_full_match({number}, '{_NUMBER}') THEN TRY_CAST({number} AS {kind}) END)"


def _blanks() -> str:
    return "concat(" + ", ".join(f"chr({code})" for code in range(1, 33)) + ")"
