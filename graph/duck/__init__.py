"""DuckDB for traces: small tables in memory, and Spark's types and expressions in DuckDB's SQL."""
