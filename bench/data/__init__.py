"""What the suites run over: made once, kept in a folder outside version control."""
