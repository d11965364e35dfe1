"""Policies: rules for the flows of data and for facts about datasets. A check finds the deviations from them."""

from headwater.graph.policies.check import Report, check_policy
from headwater.graph.policies.deviation import Deviation, Severity
from headwater.graph.policies.flow_graph import FlowGraph, read_flow_graph
from headwater.graph.policies.inference import infer_policy
from headwater.graph.policies.policy import Policy, parse_policy

__all__ = [
    "Deviation",
    "FlowGraph",
    "Policy",
    "Report",
    "Severity",
    "check_policy",
    "infer_policy",
    "parse_policy",
    "read_flow_graph",
]
