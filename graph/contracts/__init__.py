"""Data contracts in the form of the Open Data Contract Standard (ODCS): reading a document, and checking a dataset against it."""

from headwater.graph.contracts.check import Clause, Outcome, check_contract
from headwater.graph.contracts.document import Contract, read_contract
from headwater.graph.contracts.statements import statements_of

__all__ = ["Clause", "Contract", "Outcome", "check_contract", "read_contract", "statements_of"]
