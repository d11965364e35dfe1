"""The program's pandas and Arrow functions of groups, in the worker: each of their rows says of which group it was made.

`commands` is of the driver: what the JVM puts around a pickled function. `grouped` is what then runs in the worker.
"""
