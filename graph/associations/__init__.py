"""Manifests and segments: the capture format (docs/reference/capture-format.md). Light by rule: pyarrow only."""
