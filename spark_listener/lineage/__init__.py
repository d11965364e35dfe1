"""OpenLineage events, facets and names, made from the events of Spark."""
