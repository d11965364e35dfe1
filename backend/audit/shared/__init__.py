"""The audit logs of several replicas as one log, in the database that the replicas share.

Each replica writes its own log, a chain of lines, in its home, so an answer never waits for the database. `copier` copies the lines to
the database, in order and once, within a second or two. `chains` contains the statements. `search` finds lines of all replicas by time.
`verify` follows all chains, and compares the ends that replicas record of each other's chains. `retention` removes old lines.
"""
