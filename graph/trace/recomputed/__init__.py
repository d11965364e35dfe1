"""Associations that no run wrote: found again from the sources, or kept after all (docs: capture format, "Derived boundaries")."""
