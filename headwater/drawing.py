"""Draws the answers of `headwater.client` in notebooks: lineage as a drawing, records as a table, with notes on missing parts.

The HTML is self-contained: one SVG or one table, without scripts, style sheets or loaded content. Every text of an answer is escaped,
because it is untrusted. A drawing must never look complete if it is not: the text below it names missing parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MOST_NODES = 60  # limit of drawn nodes
MOST_RECORDS = 20  # limit of listed records
_LETTERS = 30  # limit of characters in a label
_WIDTH, _HEIGHT, _GAP, _STEP = 216, 36, 14, 276  # size of a box, gap between boxes in a column, and distance of columns, in pixels
_DATA, _ACTOR = "#dbe9f6", "#f6ead2"
_ACTORS = frozenset({"SYSTEM", "PIPELINE", "JOB", "RUN", "STAGE", "TASK", "OPERATOR", "ACTOR"})
_FONT = "font-family:sans-serif;font-size:12px"


@dataclass(frozen=True, slots=True)
class Box:
    """A node in a drawing. Links refer to its `id`; `kind` is a text like `DATASET`."""

    id: str
    kind: str
    name: str


Link = tuple[str, str]  # from, to


def drawn(boxes: Sequence[Box], links: Iterable[Link], notes: Sequence[str]) -> str:
    """Draw nodes in columns, so that data flows from left to right. Links in the other direction are drawn too."""
    shown = boxes[:MOST_NODES]
    ids = {box.id for box in shown}
    between = sorted({(src, dst) for src, dst in links if src in ids and dst in ids and src != dst})
    places = _places(shown, between)
    if len(shown) < len(boxes):
        notes = [f"{len(boxes) - len(shown):,} more nodes are not drawn.", *notes]
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + 2
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + 2
    parts = [_link(places[src], places[dst]) for src, dst in between] + [_box(box, *places[box.id]) for box in shown]
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" style="{_FONT}">{"".join(parts)}</svg>'
    return f'<div style="overflow-x:auto">{picture}{noted(notes)}</div>'


def listed(columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int, notes: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_value(value)}</td>' for value in row)}</tr>" for row in rows[:MOST_RECORDS])
    count = f"{min(len(rows), MOST_RECORDS):,} of {total:,} records." if total > min(len(rows), MOST_RECORDS) else f"{total:,} records."
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{noted([count, *notes])}</div>"


def noted(notes: Iterable[str]) -> str:
    return "".join(f'<p style="{_FONT};margin:4px 0">{escape(note)}</p>' for note in notes)


def _places(boxes: Sequence[Box], links: Sequence[Link]) -> Mapping[str, tuple[int, int]]:
    column = _columns([box.id for box in boxes], links)
    sources: dict[str, list[str]] = {}
    for src, dst in links:
        sources.setdefault(dst, []).append(src)
    rows: dict[str, float] = {}
    places: dict[str, tuple[int, int]] = {}
    for number in range(max(column.values(), default=-1) + 1):
        own = [box for box in boxes if column[box.id] == number]
        near = {box.id: [rows[src] for src in sources.get(box.id, ()) if src in rows] for box in own}
        own.sort(key=lambda box: (sum(near[box.id]) / len(near[box.id]) if near[box.id] else 0.0, box.name, box.id))
        for row, box in enumerate(own):
            rows[box.id] = row
            places[box.id] = (1 + number * _STEP, 1 + row * (_HEIGHT + _GAP))
    return places


def _columns(ids: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Return the column of each node: to the right of all its sources, unless a cycle prevents it."""
    known = set(links)
    waiting = {identifier: {src for src, dst in links if dst == identifier} for identifier in ids}
    column = dict.fromkeys(ids, 0)
    while waiting:
        ready = [identifier for identifier, before in waiting.items() if not before]
        for identifier in ready or [min(waiting, key=lambda each: (len(waiting[each]), each))]:  # a cycle begins at any of its nodes
            del waiting[identifier]
            for other, before in waiting.items():
                if (identifier, other) in known:
                    column[other] = max(column[other], column[identifier] + 1)
                before.discard(identifier)
    return column


def _box(box: Box, x: int, y: int) -> str:
    fill = _ACTOR if box.kind in _ACTORS else _DATA
    return (
        f'<g><title>{escape(box.id)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="{fill}" stroke="#567"/>'
        f'<text x="{x + 8}" y="{y + 15}" fill="#567" font-size="10">{escape(box.kind.lower())}</text>'
        f'<text x="{x + 8}" y="{y + 29}" fill="#123">{escape(_short(box.name))}</text></g>'
    )


def _link(src: tuple[int, int], dst: tuple[int, int]) -> str:
    x, y = src[0] + _WIDTH, src[1] + _HEIGHT // 2
    to_x, to_y = dst[0], dst[1] + _HEIGHT // 2
    bend = max(30, (to_x - x) // 2)
    return f'<path d="M{x} {y} C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}" fill="none" stroke="#89a" stroke-width="1.5"/>'


def _short(text: str) -> str:
    """Shorten a text to a label. The end of the text stays, because it is the informative part of a path."""
    return text if len(text) <= _LETTERS else f"…{text[1 - _LETTERS :]}"


def _value(value: Any) -> str:
    return "" if value is None else escape(str(value)[:200])
