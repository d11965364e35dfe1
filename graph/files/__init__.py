"""Reads records again from the files that a run read or wrote, if the files have not changed.

reading            reader, read_files, shapes; compression; lines and marks (long files of lines); text_values
formats            formats/, one module each, and shared modules: base, line_records, multiline, objects, keyed_rows, dialect,
                   csv_names, loaded_records, record_places, local_files
column names       column_names
erasures           copies (of files without some records)
Parquet            footers; excerpts (parts of large columns), pages, parquet_file, thrift
Avro               avro_blocks
Delta              delta_log, delta_protocol, deletions, delta_rows
Iceberg            iceberg_log, iceberg_snapshot
tables of both     row_ids, table_cache, allowance (limits for metadata), table_folders (tables and plain folders)
"""
