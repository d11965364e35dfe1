"""Whether capture tells the truth about the queries of TPC-H and TPC-DS: `make bench SUITE=tpcds ARGS=--truth`.

For each query: its answer with capture is its answer without; its ledger says captured, or refused by which operator; for sampled rows of
the answer, the query run again on the traced records alone gives that row again, for influence and for witness; and the plan that ran has
the operators, join strategies, pushed filters and rows read that it has without capture.
"""
