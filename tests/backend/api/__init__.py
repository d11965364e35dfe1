"""Tests of one running service, which ends with the last of them: pytest knows a package by this file alone."""
