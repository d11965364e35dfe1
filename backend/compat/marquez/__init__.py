"""Marquez's read API for programs written for Marquez: `/api/v1/namespaces`, `/jobs`, `/lineage`, `/search`, ….

The API is that of Marquez 0.51, as in its OpenAPI document (`spec/openapi.yml`) and `marquez-python`. Each module
answers about one subject. The modules `*_shape` convert jobs, runs and datasets to Marquez's form. Unknown facts
are null, or left out if Marquez's documents allow no null. No value is invented. Only tags can be changed
here; events and declarations change everything else.

An index of the store reads each page. No endpoint reads all jobs, datasets or runs.
"""

from __future__ import annotations

from headwater.backend.compat.marquez import (
    advanced_search,
    column_lineage,
    datasets,
    events,
    jobs,
    lineage,
    namespaces,
    run_lineage,
    runs,
    search,
    stats,
    tags,
)

# A new subject is a module with a `router`, and a line here.
ROUTERS = tuple(
    subject.router
    for subject in (
        namespaces, jobs, runs, datasets, lineage, column_lineage, run_lineage, search, advanced_search, tags, events, stats,
    )
)  # fmt: skip
