"""Records that an unknown run copied into other files of a table, found by the table's row numbers."""
