"""An independent oracle of record lineage: a relational interpreter in plain Python that carries the sources of each row along.

The oracle shares no code with the product. It is slow, small, and follows the table of `docs/guide/semantics.md` row by row.
"""
