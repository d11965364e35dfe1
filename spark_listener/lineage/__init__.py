"""OpenLineage events, facets and names, made from Spark's events."""
