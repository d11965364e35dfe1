"""Tests of the service and the commands."""
