"""Triggers start actions of the service when events happen (docs/guide/triggers.md).

A trigger is {condition, action, owner, limits}. A *cause* is an event that fulfils a condition. Each cause has a stable id and fires once.
The cause and its execution (the order to run the action) are recorded in one transaction. Several processes may share the store, and each
of them may end at any point.

- `conditions`: one file for each kind, and a line in its registry
- `actions`: one file for each kind, and a line in its registry
- `store`: triggers, causes and executions, in SQLite for a home and in PostgreSQL for replicas
- `facts`: the facts in an entry of the log that may fulfil a condition
- `evaluator`, `runner` and `driver`: find causes, and run the actions; the worker drives them
- `service`: create, list, fire, pause, test
"""
