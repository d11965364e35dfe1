"""Work in processes that can be ended: by a deadline, by the caller's leaving, by too much memory."""
