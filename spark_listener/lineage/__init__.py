"""OpenLineage: events, facets and names made from what Spark did."""
