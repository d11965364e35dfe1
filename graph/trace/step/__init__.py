"""Follows records through one capture, backward or forward, operator by operator."""
