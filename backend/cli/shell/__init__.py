"""`headwater.lineage` in the running shell, without a service: for a DataFrame (`frames`) and for an RDD (`rdds`)."""
