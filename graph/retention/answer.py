"""Lists data that is kept longer than a term allows, or will be soon, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from shlex import quote

from headwater.graph.model import NodeKind, bare_name, kind_of
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.policies.flow_graph import FlowGraph
from headwater.graph.policies.policy import Policy
from headwater.graph.policies.selector import dataset_of
from headwater.graph.retention.ages import Ages
from headwater.graph.retention.terms import CarriedTerm, carry_terms, find_terms
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.versions.blocks import Block
from headwater.graph.versions.holds import find_holds


@dataclass(frozen=True, slots=True)
class ExpiringData:
    """Data of a dataset that a term reaches. The oldest part was `born` when a run wrote it to its source, and must go by the `deadline`.

    If `is_born_known` is false, the data may be older. `blocks` are the sequences of the blocks with data that is due. `rows` counts their
    records (None: a run did not state them). `hold` is the reason of a legal hold, which wins.
    """

    dataset: str
    carried: CarriedTerm
    born: str
    is_born_known: bool
    deadline: str
    is_overdue: bool
    blocks: Sequence[int]
    rows: int | None
    owners: Sequence[str]
    hold: str | None
    advice: Sequence[str]


@dataclass(frozen=True, slots=True)
class RetentionAnswer:
    """The expiring data, the earliest deadline first.

    The period of the `unread` nodes cannot be read. The `unknown` datasets have a term and no known write.
    """

    expiring: Sequence[ExpiringData]
    unread: Sequence[str]
    unknown: Sequence[str]


async def list_expiring(
    graph: GraphStore, tenant: str, policies: Sequence[Policy], flows: FlowGraph, *, now: datetime, within: timedelta, dataset: str | None
) -> RetentionAnswer:
    """Return the data whose term is over within some time: of all datasets of `flows`, or of one.

    Raises:
        UnsupportedError: the data comes from too many blocks.
    """
    terms, unread = find_terms(flows, policies)
    carried = carry_terms(flows, terms)
    chosen = {each: of for each, of in carried.items() if dataset in (None, each)}
    ages = Ages(graph, tenant, {dataset_of(term.node) for term in terms})
    await ages.load(sorted(chosen))
    found, unknown = [], []
    for each, of_dataset in chosen.items():
        blocks = await ages.present(each)
        if not blocks:
            unknown.append(each)
            continue
        due = [item for item in (_expiring(ages, one, blocks, now + within) for one in of_dataset.values()) if item]
        held = await find_holds(graph, tenant, each, [block.version for block in blocks]) if due else {}
        replaced = (await ages.blocks(each))[0].sequence < blocks[0].sequence
        for one, age_born, known, late in due:
            hold = next((held[block.version] for block in late if block.version in held), None)
            deadline = _instant(age_born) + one.after
            found.append(
                ExpiringData(
                    each, one, age_born, known, deadline.isoformat(timespec="seconds").replace("+00:00", "Z"), deadline <= now,
                    [block.sequence for block in late], _rows(late), _owners(flows, each), hold, _advice(one, hold, replaced=replaced),
                )
            )  # fmt: skip
    return RetentionAnswer(sorted(found, key=lambda item: (item.deadline, item.dataset, item.carried.term.node)), unread, sorted(unknown))


def _expiring(
    ages: Ages, carried: CarriedTerm, blocks: Sequence[Block], limit: datetime
) -> tuple[CarriedTerm, str, bool, list[Block]] | None:
    """Return the age of the oldest data that a term reaches, and the blocks with data that is due. None: nothing is due."""
    origin = dataset_of(carried.term.node)
    known = [(block, age) for block in blocks if (age := ages.of(block.version, origin)) is not None]
    late = [(block, age) for block, age in known if _instant(age.born) + carried.after <= limit]
    if not late:
        return None
    oldest = min((age for _, age in late), key=lambda age: age.born)
    return carried, oldest.born, oldest.known, [block for block, _ in late]


def _rows(blocks: Sequence[Block]) -> int | None:
    counts = [block.rows for block in blocks]
    return None if None in counts else sum(count for count in counts if count is not None)


def _owners(flows: FlowGraph, dataset: str) -> list[str]:
    node = flows.nodes.get(dataset)
    return list(dict.fromkeys([*descriptions_of(node).owners, *descriptions_of(node).stewards])) if node is not None else []


def _advice(carried: CarriedTerm, hold: str | None, *, replaced: bool) -> list[str]:
    if hold is not None:
        return [f"Keep the data: a legal hold covers it ({hold})."]
    name, source = bare_name(carried.dataset), dataset_of(carried.term.node)
    if source == carried.dataset:
        found = [f"Erase the records: headwater erase {quote(name)} --where …"]
    else:
        jobs = [node for node in carried.path if kind_of(node) is NodeKind.JOB]
        rerun = f"run {bare_name(jobs[-1])} again" if jobs else "write the dataset again"
        found = [f"Erase the records in {bare_name(source)} (headwater erase {quote(bare_name(source))} --where …), then {rerun}."]
    if replaced:
        found.append(f"Drop replaced blocks: headwater versions gc {quote(name)}")
    return found


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
