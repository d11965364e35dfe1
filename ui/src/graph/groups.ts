import type { NodeKind } from '../api/generated/graphql';

export type GroupBy = 'platform' | 'pipeline';

export interface Groupable {
  id: string;
  name: string;
  /** Containers, innermost first. */
  containers: readonly { id: string; kind: NodeKind; name: string }[];
  /** Pipelines that write it. */
  pipelines: readonly { id: string; name: string }[];
}

export interface Group<Item> {
  key: string;
  title: string;
  items: Item[];
}

/** Title of the group of datasets that no known job wrote. */
export const SOURCES = 'Sources, written by no known job';

/** Group datasets by platform or pipeline, in the order of names, sources last. */
export function groupDatasets<Item extends Groupable>(items: readonly Item[], by: GroupBy): Group<Item>[] {
  const groups = new Map<string, Group<Item>>();
  for (const item of items) {
    for (const { key, title } of by === 'platform' ? [platformOf(item)] : pipelinesOf(item)) {
      const group = groups.get(key) ?? { key, title, items: [] };
      group.items.push(item);
      groups.set(key, group);
    }
  }
  for (const group of groups.values()) group.items.sort((a, b) => a.name.localeCompare(b.name));
  return [...groups.values()].sort(
    (a, b) => Number(a.key === '') - Number(b.key === '') || a.title.localeCompare(b.title),
  );
}

function platformOf(item: Groupable): { key: string; title: string } {
  const platform = item.containers.find((container) => container.kind === 'PLATFORM');
  return platform ? { key: platform.id, title: platform.name } : { key: '', title: 'Elsewhere' };
}

function pipelinesOf(item: Groupable): { key: string; title: string }[] {
  if (item.pipelines.length === 0) return [{ key: '', title: SOURCES }];
  return item.pipelines.map(({ id, name }) => ({ key: id, title: name }));
}
