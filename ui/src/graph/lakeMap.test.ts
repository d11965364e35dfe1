import { groupOfMore, type LakeMapParts, type MapGroup, makeMapDraft, REST } from './lakeMap';

const group = (name: string, members: number, more: Partial<MapGroup> = {}): MapGroup => ({
  node: { id: `platform:${name}`, kind: 'PLATFORM', name },
  members,
  toRest: 0,
  fromRest: 0,
  ...more,
});
const dataset = (name: string) => ({ id: `dataset:${name}`, kind: 'DATASET' as const, name });
const PARTS: LakeMapParts = {
  groups: [group('raw', 3), group('mart', 1)],
  flows: [{ src: 'platform:raw', dst: 'platform:mart', weight: 2 }],
  total: 2,
  open: [],
  memberFlows: [],
  isOfJobs: false,
};
const linksOf = (parts: Partial<LakeMapParts>) =>
  makeMapDraft({ ...PARTS, ...parts }).links.map(({ src, dst, weight }) => `${src} ${dst} ${weight}`);

test('groups are cards with the number of their members, and flows have weights', () => {
  const { cards, links, hidden } = makeMapDraft(PARTS);
  expect(cards.map(({ title, caption }) => [title, caption])).toEqual([
    ['raw', '3 datasets'],
    ['mart', '1 dataset'],
  ]);
  expect(links).toEqual([expect.objectContaining({ weight: 2, label: '2 jobs' })]);
  expect(hidden).toBe(0);
});

test('an open group is a box with its members and a card for the others', () => {
  const open = [{ id: 'platform:raw', members: [dataset('raw:a')] }];
  const memberFlows = [
    { src: 'dataset:raw:a', dst: 'platform:mart', weight: 1 },
    { src: 'dataset:raw:a', dst: 'platform:raw', weight: 4 },
  ];
  const { cards } = makeMapDraft({ ...PARTS, open, memberFlows });
  expect(cards.map(({ id, isBox, parent }) => [id, isBox, parent])).toEqual([
    ['platform:raw', true, undefined],
    ['dataset:raw:a', undefined, 'platform:raw'],
    ['more:platform:raw', undefined, 'platform:raw'],
    ['platform:mart', false, undefined],
  ]);
  expect(cards[2]?.title).toBe('+ 2 other datasets');
  expect(groupOfMore('more:platform:raw')).toBe('platform:raw');
  // The box has the flow of all members, because some are not drawn.
  expect(linksOf({ open, memberFlows })).toEqual([
    'dataset:raw:a more:platform:raw 4',
    'platform:raw platform:mart 2',
    'dataset:raw:a platform:mart 1',
  ]);
});

test('a group whose members are all drawn has only their flows', () => {
  const open = [{ id: 'platform:mart', members: [dataset('mart:c')] }];
  const memberFlows = [{ src: 'platform:raw', dst: 'dataset:mart:c', weight: 2 }];
  expect(linksOf({ open, memberFlows })).toEqual(['platform:raw dataset:mart:c 2']);
});

test('groups that are not drawn are one card with the sum of their flows', () => {
  const parts = { groups: [group('raw', 3, { toRest: 5, fromRest: 1 })], flows: [], total: 41 };
  expect(makeMapDraft({ ...PARTS, ...parts }).cards.at(-1)).toMatchObject({ id: REST, title: '+ 40 other groups' });
  expect(linksOf(parts)).toEqual(['platform:raw rest 5', 'rest platform:raw 1']);
});

test('a dataset of two open groups is drawn once', () => {
  const both = [dataset('x')];
  const open = [
    { id: 'platform:raw', members: both },
    { id: 'platform:mart', members: both },
  ];
  const ids = makeMapDraft({ ...PARTS, open }).cards.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the heaviest flows are drawn, and each card keeps its heaviest', () => {
  const groups = Array.from({ length: 40 }, (_, index) => group(`g${index}`, 1));
  const flows = groups.flatMap(({ node: from }, one) =>
    groups.flatMap(({ node: to }, other) => (one < other ? [{ src: from.id, dst: to.id, weight: 100 - other }] : [])),
  );
  const { links, hidden } = makeMapDraft({ ...PARTS, groups, flows, total: 40 });
  expect(links.length + hidden).toBe(flows.length);
  expect(links.length).toBeLessThan(150);
  const touched = new Set(links.flatMap(({ src, dst }) => [src, dst]));
  expect(groups.every(({ node }) => touched.has(node.id))).toBe(true);
});

test('a group with as many members as can be drawn names the search, and keeps its flows if those of its members are unknown', () => {
  const members = Array.from({ length: 400 }, (_, index) => dataset(`raw:${index}`));
  const { cards } = makeMapDraft({ ...PARTS, groups: [group('raw', 900)], open: [{ id: 'platform:raw', members }] });
  expect(cards.at(-2)).toMatchObject({ title: '+ 500 other datasets', caption: 'find one by its name above' });
  const open = [{ id: 'platform:mart', members: [dataset('mart:c'), dataset('mart:d')] }];
  const memberFlows = [{ src: 'platform:raw', dst: 'dataset:mart:c', weight: 2 }];
  expect(linksOf({ open, memberFlows, withoutFlows: new Set(['dataset:mart:d']) })).toEqual([
    'platform:raw dataset:mart:c 2',
    'platform:raw platform:mart 2',
  ]);
});
