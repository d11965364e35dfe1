"""Policies: rules for the flows of data and for facts about datasets. A check finds the deviations from them."""

from headwater.graph.policies.check import Report, check_policy
from headwater.graph.policies.deviation import Deviation, Severity
from headwater.graph.policies.flow_graph import FlowGraph, read_flow_graph
from headwater.graph.policies.inference import infer_policy
from headwater.graph.policies.policy import Policy, parse_policy
from headwater.graph.policies.tag_flow import ReachedTag, TagFlow, TagRules, TagState, carry_tags, parse_tag_rules

__all__ = [
    "Deviation",
    "FlowGraph",
    "Policy",
    "ReachedTag",
    "Report",
    "Severity",
    "TagFlow",
    "TagRules",
    "TagState",
    "carry_tags",
    "check_policy",
    "infer_policy",
    "parse_policy",
    "parse_tag_rules",
    "read_flow_graph",
]
