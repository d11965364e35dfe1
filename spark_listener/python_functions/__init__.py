"""Wraps grouped pandas and Arrow functions of the program in Python workers, so that each result row carries its group.

`commands` runs on the driver and makes the code that the JVM puts around a pickled function. `grouped` runs in the worker.
"""
