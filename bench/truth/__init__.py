"""Checks that capture is right about the queries of TPC-H and TPC-DS: `make bench SUITE=tpcds ARGS=--truth`.

The checks of a query: its answer with capture equals its answer without; its ledger says captured, or names the operator that is refused;
the query run again on the traced records alone gives each sampled row again, for influence and for witness; and the plan that ran has the
operators, join strategies, pushed filters and rows read that it has without capture.
"""
