"""CDAP's lineage API below `/v3/namespaces/{namespace}/datasets/{dataset}/lineage`, so that programs written for CDAP can ask Headwater.

As the reference of CDAP 6 states it. A namespace is one of OpenLineage's datasets, a program is a job, and its application is the pipeline
that contains it. Times are seconds since 1970 or `now`, `now-5d`; the start is within, the end is not. A flow counts as there between the
first and the last time that an event stated it. `recorder` takes operations that programs record of their runs.
"""

from __future__ import annotations

from headwater.backend.compat.cdap import datasets, field_search, fields, operations, paths, recorder

# A subject is a module with a `router`, and its line here.
ROUTERS = tuple(subject.router for subject in (datasets, fields, operations, paths, recorder, field_search))
