"""Child processes that can be ended (at a deadline, when the caller leaves, or at a memory limit), and logs, metrics and traces."""
