"""Triggers: what the service does by itself when something happens (docs/guide/triggers.md).

A trigger is {condition, action, owner, limits}. A *cause* is
an event that fulfils a condition. It has a stable id and fires once. So a cause is recorded in one transaction with the order to run its
action. All processes that share the store may work at the same time, and may end at any point.

- `conditions`: one file for each kind, and a line in its registry
- `actions`: one file for each kind, and a line in its registry
- `store`: triggers, causes and executions, in SQLite for a home and in PostgreSQL for replicas
- `facts`: what an entry of the log says that may fulfil a condition
- `evaluator`, `runner` and `driver`: find causes, and run the actions; the worker drives them
- `service`: create, list, fire, pause, test
"""
