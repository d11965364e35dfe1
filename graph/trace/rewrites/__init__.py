"""Records that a run which is not known carried into other files of a table: found by the numbers that the table gives its rows."""
