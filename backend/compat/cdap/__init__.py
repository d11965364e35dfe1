"""CDAP's lineage API below `/v3/namespaces/{namespace}/datasets/{dataset}/lineage`, for programs that were written for CDAP.

The API follows the reference of CDAP 6. A namespace is one of OpenLineage's datasets, a program is a job, and its application is the
pipeline that contains it. Times are seconds since 1970 or `now`, `now-5d`. A window includes its start and excludes its end. A flow exists
between the first and the last time that an event stated it. `recorder` accepts operations that programs record for their runs.
"""

from __future__ import annotations

from headwater.backend.compat.cdap import datasets, field_search, fields, operations, paths, recorder

# A new subject is a module with a `router`, and a line here.
ROUTERS = tuple(subject.router for subject in (datasets, fields, operations, paths, recorder, field_search))
