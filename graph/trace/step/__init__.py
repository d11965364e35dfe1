"""One step through one capture, back or forward, operator by operator."""
