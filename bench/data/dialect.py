"""Every change that a query's text needs for Spark. All other syntax runs as in DuckDB.

1. A name in double quotes is put into backticks: in Spark's default dialect double quotes are text. Eight queries of TPC-DS name
   output columns so ("30 days"): 16, 32, 50, 62, 92, 94, 95 and 99. No text of TPC-H or TPC-DS has a double quote in a literal.
2. The semicolon at the end goes.
"""

from __future__ import annotations

import re


def for_spark(text: str) -> str:
    """A query of TPC-H or TPC-DS for Spark."""
    return re.sub(r'"([^"]*)"', r"`\1`", text.strip().removesuffix(";"))
