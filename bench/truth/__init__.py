"""Checks that capture is correct for the queries of TPC-H and TPC-DS: `make bench SUITE=tpcds ARGS=--truth`.

The checks of a query: its answer with capture equals its answer without. Its ledger says captured, or names the refused operator.
The query run again on the traced records alone gives each sampled row again, for influence and for witness. The executed plan has the
same operators, join strategies, pushed filters and rows read as without capture.
"""
