import { number, type Properties, properties, text } from '../../facts/read';
import type { GraphNode } from '../../graph/types';
import type { Span } from '../Timeline/Timeline';

type Part = Pick<GraphNode, 'id' | 'name' | 'properties'>;

export interface Stage extends Part {
  /** Its tasks. */
  children: { total: number; nodes: readonly Part[] };
}

/** More tasks of a stage are left out, the shortest first. */
const MAX_TASKS = 12;
/** A task is slow if it takes this many times as long as the middle one of its stage. */
const SKEW = 3;

/** The stages of a run in the order of time, each with its longest tasks. */
export function spansOf(stages: readonly Stage[]): Span[] {
  return stages
    .flatMap((stage) => {
      const span = spanOf(stage);
      return span ? [{ stage, span }] : [];
    })
    .sort((a, b) => a.span.start.localeCompare(b.span.start))
    .flatMap(({ stage, span }) => {
      const tasks = tasksOf(stage.children.nodes);
      const left = stage.children.total - tasks.length;
      const more =
        left > 0 ? [`the ${tasks.length} longest of ${stage.children.total.toLocaleString('en')} tasks`] : [];
      return [{ ...span, note: [span.note, ...more].filter(Boolean).join(', ') }, ...tasks];
    });
}

function tasksOf(parts: readonly Part[]): Span[] {
  const tasks = parts.flatMap((part) => spanOf(part) ?? []);
  const byLength = tasks.toSorted((a, b) => secondsOf(b) - secondsOf(a));
  const middle = secondsOf(byLength[Math.floor(byLength.length / 2)]);
  return byLength
    .slice(0, MAX_TASKS)
    .map((task) => {
      const isSlow = tasks.length > 2 && secondsOf(task) > SKEW * middle;
      return { ...task, isPart: true, note: [task.note, isSlow && 'slow'].filter(Boolean).join(', ') };
    })
    .sort((a, b) => a.start.localeCompare(b.start));
}

function spanOf({ id, name, properties: own }: Part): Span | undefined {
  const facts = properties(own);
  const start = text(facts.startedAt);
  if (start === undefined || Number.isNaN(Date.parse(start))) return undefined;
  const rows = number(facts.rows);
  const notes = [isFailed(facts) && 'failed', rows !== undefined && `${rows.toLocaleString('en')} rows`];
  const tone = isFailed(facts) ? 'bad' : 'good';
  return { id, label: name, start, end: text(facts.endedAt), tone, note: notes.filter(Boolean).join(', ') };
}

function secondsOf(span: Span | undefined): number {
  return span?.end ? (Date.parse(span.end) - Date.parse(span.start)) / 1000 : 0;
}

function isFailed(facts: Properties): boolean {
  return ['FAIL', 'FAILED'].includes(text(facts.state) ?? '') || (number(facts.failed) ?? 0) > 0;
}
