"""The suites, one module each, with the function `suite()`."""
