"""Erasure: takes chosen records out of a source, and makes every dataset that derives from it again without them.

See docs/guide/erasure.md. An erasure deletes data, so it must never begin what it cannot end, and never delete data of other records.
"""
