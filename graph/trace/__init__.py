"""Tracing: which records a record came from, and where it went.

`trace` and `preview` load DuckDB when they are first used; the types of an answer do not. Modules by subject:

    a question and its answer     answer, engine; preview (rows to pick from); questions (both, as a service asks them);
                                  start_records, selection and predicate (the records to begin with), functions (that a predicate may
                                  use); datasets (its files),
                                  partition_locations (files outside of its folder), versions and snapshots (earlier files);
                                  value_sources (where values come from); record_pairs (which record came from which)
    what stays between traces     tracer, session; recorded_row_keys (the keys of row numbers)
    from capture to capture       upstream, downstream, paths_between (to a target), links, hops, lineage_path, expressions (on the path),
                                  merge_actions (what MERGE did to a row); writers_by_row_number and writers_by_place; coarse_hops (where
                                  only datasets are known)
    files that unknown runs wrote rewrites/: former_files and later_files of tables with row numbers; tables (their row numbers)
    files that were moved         moved_files
    all datasets downstream       reached_datasets (their records, and whether any may be missing)
    records to erase              chosen_files (files with chosen records, and copies without them)
    committed replays             changed_records (edited records), replayed_ends (records that no dataset has),
                                  replay_alternates (datasets between that were not committed)
    a captured plan               plan
    within one capture            step/: backward, forward; frames and windows; row_matches (semi-joins, subqueries); set_operations
                                  (INTERSECT ALL, EXCEPT ALL); collisions (keys of one hash); witness_rows and order (rows that a function
                                  took); values (of references); lookup (in kept tables, in memory or by DuckDB)
    limits                        estimate (size of a walk)
    two versions compared         version_diff/: answer (question and answer), sides (the data of a version), compare, engine
    wrong rows explained          explain (conditions on the records behind them)
    the task behind wrong rows    instances/: answer (question and answer), engine
    inputs of an aggregate        rank/: aggregates (which can be ranked), influence (the value without each input), answer, engine
    files at another place        rows_elsewhere (a row in the output of a trial?); ranked_rows (by a quality, there or in the dataset)
    on Spark                      on_spark/: walk (the same steps over tables of Spark), connection (their statements), errors
    rows that no run wrote        recompute/: boundary_rows (groups computed again), spec (their SQL), group_keys, relation (joins below),
                                  whole_scan (all records of a scan); group_keeper and large_groups (groups that are kept
                                  before their source changes)
    records of files              file_checks (files compared with what the run read), record_places and scan_tables (the records of
                                  references); the formats are in `graph/files`
    Spark's meaning in DuckDB     translate; the rest is in `graph/duck`
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater.graph.trace.answer import (
    AsOf,
    ColumnExpression,
    FoundAgain,
    Grain,
    Hop,
    Incomplete,
    RowPage,
    Semantics,
    Step,
    TraceAnswer,
    TracedRecord,
    TraceRequest,
)

if TYPE_CHECKING:
    from headwater.graph.trace.engine import trace
    from headwater.graph.trace.preview import preview

__all__ = [
    "AsOf",
    "ColumnExpression",
    "FoundAgain",
    "Grain",
    "Hop",
    "Incomplete",
    "RowPage",
    "Semantics",
    "Step",
    "TraceAnswer",
    "TraceRequest",
    "TracedRecord",
    "preview",
    "trace",
]

_LAZY = {"preview": "preview", "trace": "engine"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"headwater.graph.trace.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
