"""The DuckDB functions that a user's predicate may call. None is expensive or reveals anything about this machine.

These functions must never be listed:

- functions that make large results from small input (`repeat`, `lpad`, `range`, `replace`)
- functions that wait (`sleep_ms`), or that read files, settings or environment variables
- functions that return another result each time (`random`, `now`)

Names are DuckDB's, in lower case. An operator is a function in DuckDB.
"""

from __future__ import annotations

_OPERATORS = "+ - * / // % ^ ** & | ~ << >> || @ ~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape ^@"
_NUMBERS = """
    abs add cbrt ceil ceiling degrees divide even exp fdiv floor fmod greatest isfinite isinf isnan least ln log log10 log2 mod multiply
    pi pow power radians round sign sqrt subtract trunc
"""
_TEXTS = """
    ascii char_length character_length concat concat_ws contains ends_with hash instr lcase left length len lower ltrim md5
    nfc_normalize ord position prefix regexp_extract regexp_full_match regexp_matches reverse right rtrim sha256 split_part
    starts_with strip_accents strlen strpos substr substring suffix translate trim ucase upper
"""
_TIMES = """
    century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek
    dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear last_day make_date make_time make_timestamp microsecond
    millennium millisecond minute month monthname quarter second strftime strptime timezone to_days to_hours to_microseconds
    to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years try_strptime week weekday weekofyear
    year yearweek
"""
_NESTED = """
    array_contains array_extract array_has array_length element_at json_extract json_extract_string list_contains list_element
    list_extract list_has list_value map map_contains map_extract map_extract_value row struct_extract struct_pack
"""
_CHOICES = "if nullif typeof"

FUNCTIONS = frozenset(f"{_OPERATORS} {_NUMBERS} {_TEXTS} {_TIMES} {_NESTED} {_CHOICES}".split())
