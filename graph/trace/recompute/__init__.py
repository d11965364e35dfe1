"""Associations that no run wrote: computed again from the sources, or kept later (docs: capture format, "Derived boundaries")."""
