/** The address of the page. An address contains everything that is needed to show the same page again. */

import { type Depth, FIRST_CARDS, type Growth, MOST_CARDS, SIDES, type Side } from '../graph/neighbourhood';
import { formatView, parseView, type ViewChoice } from '../graph/zoom';
import type { SortOrder } from '../trace/sorting';
import { formatMap, type MapState, parseMap } from './mapState';

export type SemanticsChoice = 'witness' | 'influence';
export type DirectionChoice = 'backward' | 'forward';

export interface Location {
  /** Text of a search for datasets on the start page. */
  find?: string;
  /** Name of a page in the registry. */
  page?: string;
  /** Id of an item on that page, for example a replay. */
  item?: string;
  /** Id of the dataset whose rows are shown. */
  dataset?: string;
  /** DuckDB predicate over its rows. */
  where?: string;
  /** Order of its rows. The default is the order in the files. */
  sort?: SortOrder;
  /** File of the traced record. */
  file?: string;
  /** 0-based row of the traced record in its file. */
  row?: number;
  /** Version of the dataset that contains the record. The default is the current version. */
  version?: string;
  /** An earlier version with which the trace is compared. */
  compare?: string;
  /** Columns whose values identify the record in other versions. The default are those by which its job groups rows. */
  keys?: readonly string[];
  /** Column of the cell that was clicked. */
  column?: string;
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Id of a replay that the page of a trace shows. */
  replay?: string;
  /** Id of the dataset in which a trace ends, or `EVERYTHING`. The default is the dataset from which the value came, if it is known. */
  to?: string;
  /** Levels and masks of the drawing. The default shows every dataset and job. */
  view?: ViewChoice;
  /** Whether the drawing shows more than the path of the trace. */
  around?: boolean;
  /** Whether the drawing shows links that their jobs have given up. */
  former?: boolean;
  /** Nodes whose neighbours the reader added to the drawing, in order. */
  grown?: readonly Growth[];
  /** The largest number of hops to draw on each side. */
  steps?: Depth;
  /** Number of cards to draw before any growth. The default is `FIRST_CARDS`. */
  cards?: number;
  graph?: GraphState;
  /** The map of the whole lake, on its page. */
  map?: MapState;
}

/** The state of the drawing that the reader changes without a new question. */
export interface GraphState {
  /** Ids of the cards whose columns or operations are visible. */
  open?: readonly string[];
  /** Id of the card, column or link whose details are visible. */
  selected?: string;
  /** Whether the drawing fills the window. */
  isLarge?: boolean;
}

/** The target of a trace to all ends of the lineage. */
export const EVERYTHING = 'all';

export const HOME: Location = { semantics: 'witness', direction: 'backward' };

export interface TracedRecord {
  dataset: string;
  file: string;
  row: number;
}

/** The traced record, if the location contains all its parts. */
export function tracedRecord(location: Location): TracedRecord | undefined {
  const { dataset, file, row } = location;
  return dataset !== undefined && file !== undefined && row !== undefined ? { dataset, file, row } : undefined;
}

export function parseLocation(search: string): Location {
  const query = new URLSearchParams(search);
  const text = (key: string) => query.get(key) || undefined;
  const row = Number.parseInt(query.get('row') ?? '', 10);
  return definedParts({
    find: text('find'),
    page: text('page'),
    item: text('item'),
    dataset: text('dataset'),
    where: text('where'),
    sort: parseSort(query),
    file: text('file'),
    row: Number.isInteger(row) && row >= 0 ? row : undefined,
    version: text('version'),
    compare: text('compare'),
    keys: listOf(query, 'key'),
    column: text('column'),
    semantics: query.get('semantics') === 'influence' ? 'influence' : 'witness',
    direction: query.get('direction') === 'forward' ? 'forward' : 'backward',
    replay: text('replay'),
    to: text('to'),
    view: parseView(query),
    around: query.get('around') === '1' || undefined,
    former: query.get('former') === '1' || undefined,
    grown: parseGrown(query.getAll('grown')),
    steps: parseSteps(query),
    cards: parseCards(query),
    graph: parseGraph(query),
    map: parseMap(query),
  });
}

/** The query part of the address, `''` for the start page. An address of a trace always contains its semantics and direction. */
export function formatLocation(location: Location): string {
  const query = new URLSearchParams();
  if (location.dataset && location.former) query.set('former', '1');
  const { page, item, dataset, where, grown } = location;
  if (location.find && !dataset && !page) query.set('find', location.find);
  if (dataset) query.set('dataset', dataset);
  if (page) query.set('page', page);
  if (page && item) query.set('item', item);
  if (where) query.set('where', where);
  if (tracedRecord(location)) formatTrace(location, query);
  else if (dataset) formatDataset(location, query);
  for (const { side, id } of grown ?? []) query.append('grown', `${side} ${id}`);
  formatDrawing(location, query);
  const search = query.toString();
  return search ? `?${search}` : '';
}

function formatDrawing(location: Location, query: URLSearchParams): void {
  const isMap = location.page === 'map' && !location.dataset;
  if (isMap && location.map) formatMap(location.map, query);
  if (isMap || location.dataset) formatGraph(location, query);
}

function parseSort(query: URLSearchParams): SortOrder | undefined {
  const column = query.get('sort');
  return column ? { column, descending: query.get('descending') === '1' } : undefined;
}

function formatDataset({ sort, view }: Location, query: URLSearchParams): void {
  if (sort) query.set('sort', sort.column);
  if (sort?.descending) query.set('descending', '1');
  if (view) formatView(view, query);
}

function formatTrace(location: Location, query: URLSearchParams): void {
  const { file, row, version, compare, keys, column, semantics, direction, to, around, replay } = location;
  query.set('file', file ?? '');
  query.set('row', String(row));
  if (version) query.set('version', version);
  if (compare) query.set('compare', compare);
  for (const key of keys ?? []) query.append('key', key);
  if (column) query.set('column', column);
  query.set('semantics', semantics);
  query.set('direction', direction);
  if (to) query.set('to', to);
  if (around) query.set('around', '1');
  if (replay) query.set('replay', replay);
}

const GROWN = /^(before|after) (.+)$/;

function parseGrown(texts: readonly string[]): Growth[] | undefined {
  const grown = texts.flatMap((text) => {
    const [, side, id] = GROWN.exec(text) ?? [];
    return side && id ? [{ side: side as Side, id }] : [];
  });
  return grown.length > 0 ? grown : undefined;
}

function listOf(query: URLSearchParams, name: string): string[] | undefined {
  const values = query.getAll(name).filter(Boolean);
  return values.length > 0 ? values : undefined;
}

function parseSteps(query: URLSearchParams): Depth | undefined {
  const steps: Depth = {};
  for (const side of SIDES) {
    const hops = Number.parseInt(query.get(side) ?? '', 10);
    if (hops >= 0) steps[side] = hops;
  }
  return Object.keys(steps).length > 0 ? steps : undefined;
}

function parseCards(query: URLSearchParams): number | undefined {
  const cards = Number.parseInt(query.get('cards') ?? '', 10);
  return cards > FIRST_CARDS ? Math.min(cards, MOST_CARDS) : undefined;
}

function parseGraph(query: URLSearchParams): GraphState | undefined {
  const open = query.getAll('lines');
  const selected = query.get('selected') || undefined;
  const isLarge = query.get('large') === '1' || undefined;
  const graph = definedParts<GraphState>({ open: open.length > 0 ? open : undefined, selected, isLarge });
  return Object.keys(graph).length > 0 ? graph : undefined;
}

function formatGraph({ steps = {}, cards, graph = {} }: Location, query: URLSearchParams): void {
  if (cards !== undefined) query.set('cards', String(cards));
  for (const side of SIDES) if (steps[side] !== undefined) query.set(side, String(steps[side]));
  for (const id of graph.open ?? []) query.append('lines', id);
  if (graph.selected) query.set('selected', graph.selected);
  if (graph.isLarge) query.set('large', '1');
}

type Loose<T> = { [Key in keyof T]: T[Key] | undefined };

/** Remove the parts whose value is undefined. */
export function definedParts<T extends object>(value: Loose<T>): T {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as T;
}
