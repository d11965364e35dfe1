/** The difference of two traces of the same record: the path, drawn in place, and the records at its ends. */
import type { TraceQuery } from '../api/generated/first/graphql';
import type { Change } from '../graph/flow';
import type { Highlight } from '../graph/path';
import type { Card, Link } from '../graph/scene';
import { valuesOf } from './values';

type Trace = TraceQuery['trace'];
type TracedRecord = Trace['records'][number];

/** The path of both traces, so that the drawing keeps what is gone. */
export function joinHighlights(now: Highlight, before: Highlight): Highlight {
  return {
    nodes: new Set([...now.nodes, ...before.nodes]),
    links: new Set([...now.links, ...before.links]),
    coarse: new Set([...now.coarse, ...before.coarse]),
  };
}

/** Mark the parts of a drawing that are on one of the paths only. */
export function markPathChanges<Drawn extends { cards: readonly Card[]; links: readonly Link[] }>(
  draft: Drawn,
  now: Highlight,
  before: Highlight,
): Drawn {
  const changeOf = (id: string, part: 'nodes' | 'links'): Change | undefined => {
    const [isNow, was] = [now[part].has(id), before[part].has(id)];
    if (isNow === was) return undefined;
    return isNow ? 'added' : 'gone';
  };
  return {
    ...draft,
    cards: draft.cards.map((card) => {
      const change = changeOf(card.id, 'nodes');
      return change ? { ...card, change, caption: `${change} · ${card.caption}` } : card;
    }),
    links: draft.links.map((link) => {
      const change = changeOf(link.id, 'links');
      return change ? { ...link, change, label: [change, link.label].filter(Boolean).join(', ') } : link;
    }),
  };
}

export interface RecordChange {
  change: 'added' | 'gone';
  record: TracedRecord;
}

/** The records of one answer that the other one lacks, compared by their values as bags. `kept` counts the others. */
export function recordChanges(now: Pick<Trace, 'records'>, before: Pick<Trace, 'records'>) {
  const rest = new Map<string, TracedRecord[]>();
  for (const record of before.records) {
    const key = keyOf(record);
    rest.set(key, [...(rest.get(key) ?? []), record]);
  }
  const changes: RecordChange[] = [];
  let kept = 0;
  for (const record of now.records) {
    if (rest.get(keyOf(record))?.pop()) kept += 1;
    else changes.push({ change: 'added', record });
  }
  for (const record of [...rest.values()].flat()) changes.push({ change: 'gone', record });
  return { changes, kept };
}

function keyOf({ dataset, grain, values }: TracedRecord): string {
  const entries = Object.entries(valuesOf(values)).toSorted(([a], [b]) => a.localeCompare(b));
  return JSON.stringify([dataset, grain, entries]);
}
