"""Triggers start actions of the service when events happen (docs/guide/triggers.md).

A trigger is {condition, action, owner, limits}. A *cause* is an event that fulfils a condition. Each cause has a stable id and fires once.
The cause and its execution (the order to run the action) are recorded in one transaction. Several processes may share the store, and each
of them may end at any point.
"""
