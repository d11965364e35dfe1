"""One module a suite; each has `suite()`."""
