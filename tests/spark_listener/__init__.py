"""Tests of what runs in the Spark application."""
