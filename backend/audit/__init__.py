"""The audit log of a service: lines that are linked so that none can be changed or removed unseen, written, searched and verified."""
