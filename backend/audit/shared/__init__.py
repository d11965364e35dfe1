"""The audit logs of several replicas in the database that they share, as one log for auditors.

Each replica still writes its own log, a chain of lines, in its home: an answer never waits for the database. `copier` copies the lines to
the database, in their order and once, within a second or two. `chains` holds the statements. `search` finds lines of all replicas by time.
`verify` follows all chains and compares the statements of replicas about each other's ends. `retention` removes old lines.
"""
