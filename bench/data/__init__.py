"""The data of the suites: made once, and kept in a folder outside version control."""
