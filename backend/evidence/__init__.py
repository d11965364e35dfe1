"""Signed evidence: a Merkle tree over the ingest log, checkpoints, keys, and bundles that anybody can verify without a service."""
