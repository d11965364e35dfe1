"""The data of the suites, made once and stored in a folder outside of version control."""
