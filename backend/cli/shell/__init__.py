"""`headwater.lineage` in the running shell: of a DataFrame by `frames`, of an RDD by `rdds`; without a service."""
