"""An independent oracle of record lineage: a relational interpreter in plain Python that carries where each row came from.

It shares no code with the product. It is slow, small, and follows the table of `docs/guide/semantics.md` row by row.
"""
