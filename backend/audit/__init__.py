"""The audit log of a service: its lines are written, searched and verified. Links between lines reveal a changed or removed line."""
