"""The applied policies of a home or of all replicas, and the deviations from them over time."""

from headwater.backend.policies.service import CallersPolicies, Policies, has_policies
from headwater.backend.policies.store import FiledDeviation, FiledState, PolicyVersion

__all__ = ["CallersPolicies", "FiledDeviation", "FiledState", "Policies", "PolicyVersion", "has_policies"]
