"""Shadow tables: what a replayed program finds in the place of a table that it writes.

A program that overwrites a folder needs nothing there. A program that changes a table (an append, a MERGE, a DELETE) needs the rows that
the table had before the repeated run. A shadow table has these rows, by reference to the files of the real table, and nothing else is
copied. Everything that the program writes goes to the folder of the shadow table.
"""
