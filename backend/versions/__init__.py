"""Collection of unneeded blocks in enrolled datasets: `enrolment`, `trash` (moves of files, with a journal), `collector`."""
