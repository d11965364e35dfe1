"""Retention: which data is kept longer than the term of a source, or will be soon."""

from headwater.graph.retention.answer import ExpiringData, RetentionAnswer, list_expiring
from headwater.graph.retention.flows import read_flows_of_terms
from headwater.graph.retention.terms import CarriedTerm, Term, carry_terms, find_terms

__all__ = ["CarriedTerm", "ExpiringData", "RetentionAnswer", "Term", "carry_terms", "find_terms", "list_expiring", "read_flows_of_terms"]
