"""Associations that the run did not write: computed again from the sources (docs: capture format, "Derived boundaries")."""
