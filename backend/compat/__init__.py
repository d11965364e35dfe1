"""The APIs of the lineage services Marquez and CDAP, answered from Headwater's graph."""
