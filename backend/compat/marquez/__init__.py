"""Marquez's read API, so that programs written for Marquez can ask Headwater: `/api/v1/namespaces`, `/jobs`, `/lineage`, `/search`, ….

For clients of Marquez 0.51, as its OpenAPI document (`spec/openapi.yml`) and `marquez-python` have it. Each module answers about one
subject; `shapes` and its neighbours say what a job, a run, a dataset looks like there. What Headwater does not know is null, or left out
where Marquez's documents allow no null; nothing is made up. Nothing but tags can be
changed here: events and declarations do that.

A page is read by an index of the store, however much there is beside it: nothing here looks through all jobs, datasets or runs.
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

# A subject is a module with a `router`, and its line here.
ROUTERS = tuple(
    subject.router
    for subject in (
        namespaces, jobs, runs, datasets, lineage, column_lineage, run_lineage, search, advanced_search, tags, events, stats,
    )
)  # fmt: skip
