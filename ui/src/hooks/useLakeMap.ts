import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import {
  LakeMapDocument,
  MapMembersDocument,
  type MapMembersQueryVariables,
  MapNodesDocument,
  MemberFlowsDocument,
  type NodeKind,
} from '../api/generated/graphql';
import { queryOf } from '../api/query';
import { parseId } from '../graph/ids';
import { type MapDraft, makeMapDraft, type OpenMembers } from '../graph/lakeMap';
import type { MapLens, MapState } from '../location/mapState';

export interface LakeMapAnswer {
  draft: MapDraft;
  total: number;
  members: number;
  /** Number of jobs or datasets between too many groups, whose flows are not drawn. */
  wide: number;
  /** Whether some flows of the drawn members are left out. */
  isAtLeast: boolean;
  /** Number of drawn members whose flows are not asked for. */
  withoutFlows: number;
  isLoading: boolean;
}

/** Members whose flows are asked for at once: the service answers for no more. */
const MOST_WITH_FLOWS = 500;

const GROUP_KINDS: Record<MapLens, NodeKind[]> = {
  NAMESPACE: ['PLATFORM'],
  PIPELINE: ['PIPELINE', 'SYSTEM'],
  OWNER: ['OWNER'],
  TAG: ['TAG'],
  TERM: ['TERM'],
};

/** The map of the whole lake. Members and flows of open groups come later, and the map is drawn without them first. */
export function useLakeMap({ lens, groups, include, open }: MapState) {
  const map = useQuery({
    ...queryOf(LakeMapDocument, {
      lens,
      first: groups,
      include: [...new Set([...include, ...open.map(({ id }) => id)])],
    }),
    placeholderData: keepPreviousData,
  });
  const heaviest = useQueries({
    queries: open.map(({ id, first }) => ({
      ...queryOf(MapMembersDocument, questionOf(lens, id, '', first)),
      placeholderData: keepPreviousData,
    })),
    combine: (results) => results.map(({ data }) => data?.find.hits.map(({ node }) => node)),
  });
  const searched = open.flatMap(({ found }) => found).toSorted();
  const nodes = useQuery({
    ...queryOf(MapNodesDocument, { ids: searched }),
    enabled: searched.length > 0,
    placeholderData: keepPreviousData,
  });
  const extra = nodes.data?.lineage.nodes;
  const members = useMemo(
    () =>
      open.map(({ id, found }, index): OpenMembers => {
        const own = heaviest[index] ?? [];
        const known = new Set(own.map((node) => node.id));
        const others = (extra ?? []).filter((node) => found.includes(node.id) && !known.has(node.id));
        return { id, members: [...own, ...others] };
      }),
    [open, heaviest, extra],
  );
  const drawn = [...new Set(members.flatMap((each) => each.members.map(({ id }) => id)))];
  const ids = drawn.slice(0, MOST_WITH_FLOWS).toSorted();
  const cut = drawn.slice(MOST_WITH_FLOWS).join('\n');
  const flows = useQuery({
    ...queryOf(MemberFlowsDocument, { lens, members: ids }),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  const memberFlows = ids.length > 0 ? flows.data?.memberFlows : undefined;
  const answer = useMemo((): Omit<LakeMapAnswer, 'isLoading'> | undefined => {
    const found = map.data?.lakeMap;
    if (!found) return undefined;
    const withoutFlows = new Set(cut === '' ? [] : cut.split('\n'));
    const draft = makeMapDraft({
      groups: found.groups,
      flows: found.flows,
      total: found.total,
      open: members,
      memberFlows: memberFlows?.flows ?? [],
      withoutFlows,
      isOfJobs: lens === 'PIPELINE',
    });
    const { total, members: count, wide } = found;
    const isAtLeast = memberFlows?.complete === false;
    return { draft, total, members: count, wide, isAtLeast, withoutFlows: withoutFlows.size };
  }, [map.data, members, memberFlows, lens, cut]);
  const isLoading = map.isPlaceholderData || heaviest.some((each) => each === undefined) || flows.isPlaceholderData;
  return { answer, isLoading, error: map.error ?? flows.error, refetch: map.refetch, isPending: map.isPending };
}

/** Groups with a text in their name, or members of a group. */
export function useMapSearch(lens: MapLens, group: string | undefined, text: string) {
  const question = group === undefined ? { kinds: GROUP_KINDS[lens], text, first: FOUND } : undefined;
  return useQuery({
    ...queryOf(MapMembersDocument, question ?? questionOf(lens, group ?? '', text, FOUND)),
    enabled: text !== '',
    placeholderData: keepPreviousData,
  });
}

const FOUND = 12;

/** The question for the members of a group. */
function questionOf(lens: MapLens, group: string, text: string, first: number): MapMembersQueryVariables {
  const { kind, parts } = parseId(group);
  const name = parts[0] ?? '';
  const question = { text, first, kinds: [lens === 'PIPELINE' ? 'JOB' : 'DATASET'] as NodeKind[] };
  switch (kind) {
    case 'platform':
      return { ...question, namespaces: [name] };
    case 'pipeline':
      return { ...question, pipelines: [group] };
    case 'system':
      // Without a text, only jobs outside of pipelines. The index of words does not know which jobs these are.
      return { ...question, namespaces: [name], ...(text === '' && { pipelines: [''] }) };
    case 'owner':
      return { ...question, owners: [name] };
    case 'tag':
      return { ...question, tags: [name] };
    default:
      return { ...question, terms: [name] };
  }
}
