"""Collection of blocks in datasets that an operator enrolled: `enrolment`, `trash` (moves of files, with a journal), `collector`."""
