"""What a trace asks of DuckDB: small tables held in memory beside it, and Spark's types and expressions in its SQL."""
