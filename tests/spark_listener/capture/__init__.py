"""Tests of captures in one session of Spark, which ends with the last of them: pytest knows a package by this file alone."""
