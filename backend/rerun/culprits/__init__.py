"""Searches for the records behind a failure or a wrong result. Each search runs registered programs on parts of their input."""
