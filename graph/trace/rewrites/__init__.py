"""Finds records that a program without capture copied into other files of the same table, by the table's row numbers."""
