"""Reads request bodies in separate processes. A slow body delays no other, and reading ends when its client disconnects."""
