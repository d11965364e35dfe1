"""The program's grouped pandas and Arrow functions in the worker: each of their rows carries its group.

`commands` is for the driver: the code that the JVM puts around a pickled function. `grouped` runs in the worker.
"""
