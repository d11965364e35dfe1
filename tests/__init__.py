"""Tests of all parts. A package of its own, so that no dependency that brings a package of this name is imported in its place."""
