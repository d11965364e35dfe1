import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import {
  ViewDifferenceDocument,
  type ViewDifferenceQuery,
  ViewDocument,
  type ViewQuery,
} from '../api/generated/first/graphql';
import type { ViewInput } from '../api/generated/graphql';
import { queryOf } from '../api/query';
import { type ChangeCounts, countChanges, markChanges, withGone } from '../graph/changes';
import { flowOfView } from '../graph/view';
import { DEPTH, endOf, type ViewChoice, viewInput, WHOLE } from '../graph/zoom';
import type { Location } from '../location/location';
import { type DrawnPart, useFlowDraft, useViewDraft } from './useDraft';
import { useLineage } from './useLineage';

/** Larger than the number of cards, so that a drawing can grow. */
const MAX_NODES = 600;
const NO_VIEW: Pick<ViewQuery['view'], 'nodes' | 'edges'> = { nodes: [], edges: [] };
const NO_LINEAGE = { nodes: [], edges: [], truncated: 0 };

export interface Drawing {
  draft: DrawnPart;
  choice: ViewChoice;
  /** The request, if the drawing is a view. */
  view: ViewInput | undefined;
  answer: ViewQuery['view'] | undefined;
  /** The difference to an earlier time, and its counts in the drawn part. */
  changes: { difference: ViewDifferenceQuery['viewDifference']; drawn: ChangeCounts } | undefined;
}

/**
 * The lineage of a dataset for an address: the nearest datasets and jobs, or a view. While a drawing loads, the last one stays.
 * `jobs` are those of now, the nearest first.
 */
export function useDrawing(location: Location, dataset: string) {
  const nearest = useNearest(location, dataset);
  const view = useChosenView(location, dataset);
  const { view: choice = WHOLE } = location;
  const { isReady, error, refetch, drawn } = location.view ? view : nearest;
  const drawing = useLatest<Drawing>(isReady ? { ...drawn, choice } : undefined);
  return { drawing, jobs: nearest.jobs, isLoading: !isReady, error, refetch };
}

function useNearest({ view, grown, steps, cards, former }: Location, dataset: string) {
  // The jobs of now are the marks of the time slider, so they must not depend on its position.
  const enabled = view === undefined || view.asOf !== undefined || view.since !== undefined;
  const { data, error, refetch } = useLineage(dataset, 'BOTH', { enabled, ...(cards && { cards }) });
  const draft = useFlowDraft({
    graph: data ?? NO_LINEAGE,
    focus: dataset,
    growth: grown,
    depth: steps,
    first: cards,
    isFormerShown: former,
  });
  const drawn = { draft, view: undefined, answer: undefined, changes: undefined };
  const jobs = (data ?? NO_LINEAGE).nodes.filter(({ kind }) => kind === 'JOB').map(({ id }) => id);
  return { drawn, jobs, isReady: data !== undefined, error, refetch };
}

function useChosenView(location: Location, dataset: string) {
  const { view: choice = WHOLE, cards = 0 } = location;
  const view = viewInput(choice, dataset);
  const first = Math.max(MAX_NODES, 2 * cards);
  const difference = useDifference(choice, dataset, first);
  const query = useQuery({
    ...queryOf(ViewDocument, { view: difference ? { ...view, asOf: difference.until } : view, first }),
    enabled: location.view !== undefined,
  });
  const answer = query.data?.view;
  const changes = difference?.query.data?.viewDifference;
  const { draft, flow } = useViewFlow(answer ?? NO_VIEW, location, changes, difference?.before);
  const drawn = {
    draft,
    view,
    answer,
    changes: changes && { difference: changes, drawn: countChanges(flow) },
  };
  const { error, refetch } = difference?.query.error ? difference.query : query;
  return { drawn, isReady: answer !== undefined && (!difference || changes !== undefined), error, refetch };
}

/** The difference of a view to an earlier time, and the view at that time. `until` is the later time. */
function useDifference(choice: ViewChoice, dataset: string, first: number) {
  const { asOf, since } = choice;
  const [opened] = useState(() => new Date().toISOString());
  const until = asOf === undefined ? opened : endOf(asOf);
  const start = endOf(since ?? opened);
  const view = viewInput(choice, dataset);
  const enabled = since !== undefined;
  const query = useQuery({ ...queryOf(ViewDifferenceDocument, { view, before: start, after: until }), enabled });
  // The earlier view can lack a level. The difference is right without it.
  const before = useQuery({ ...queryOf(ViewDocument, { view: { ...view, asOf: start }, first }), enabled });
  return enabled ? { query, before: before.data?.view, until } : undefined;
}

function useViewFlow(
  view: Pick<ViewQuery['view'], 'nodes' | 'edges'>,
  { view: choice = WHOLE, grown, steps, cards, former }: Location,
  changes: ViewDifferenceQuery['viewDifference'] | undefined,
  before: ViewQuery['view'] | undefined,
) {
  const flow = useMemo(() => {
    const { open = [], depth = DEPTH } = choice;
    const { nodes, edges } = changes ? withGone(view, changes) : view;
    const all = flowOfView(nodes, edges, { open: open.map(({ id }) => id), depth });
    return changes ? markChanges(all, changes, before) : all;
  }, [view, choice, changes, before]);
  return { flow, draft: useViewDraft(flow, { growth: grown, depth: steps, first: cards, isFormerShown: former }) };
}

/** The value, or the last one if there is none now. */
function useLatest<Value>(value: Value | undefined): Value | undefined {
  const latest = useRef(value);
  useEffect(() => {
    if (value !== undefined) latest.current = value;
  });
  return value ?? latest.current;
}
