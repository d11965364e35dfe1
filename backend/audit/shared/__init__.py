"""The audit logs of several replicas in the database that they share, so that an auditor sees one.

Each replica goes on to write its own log, a chain of lines, in its home: an answer never waits for the database. `copying` copies the lines
there, in their order and once, within a second or two; `chains` are its statements. `search` finds lines of all replicas by their time,
`verify` follows all chains and compares what replicas state of each other's ends, and `retention` removes what is too old.
"""
