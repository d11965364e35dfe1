"""What projects the log while the service runs: a thread, the projector that it drives, and who may do so (`role`, `leases`)."""
