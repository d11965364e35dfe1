"""Writes, searches and verifies the audit log of a service. Links between lines reveal a changed or removed line."""
