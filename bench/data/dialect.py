"""Converts the text of a query to Spark's SQL. All other syntax runs as in DuckDB.

1. A name in double quotes is put into backticks, because in Spark's default dialect double quotes mark text. Eight queries of TPC-DS have
   such names of output columns ("30 days"): 16, 32, 50, 62, 92, 94, 95 and 99. No text of TPC-H or TPC-DS has a double quote in a literal.
2. The semicolon at the end is removed.
"""

from __future__ import annotations

import re


def for_spark(text: str) -> str:
    return re.sub(r'"([^"]*)"', r"`\1`", text.strip().removesuffix(";"))
