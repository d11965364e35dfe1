import type { MaskBy, NodeKind, ViewInput } from '../api/generated/graphql';

/** The levels, masks and time of a drawing. */
export interface ViewChoice {
  data: DataLevel;
  actors: ActorLevel;
  /** Masks in the form of the command line: `kind=job`, `name=*tmp*`, `tag!=pii`. */
  masks: string[];
  /** Whether only the beginnings and ends are visible. */
  ends: boolean;
  /** Id of a node: only the ways between it and the focus are visible. */
  between?: string;
  /** Containers whose content is drawn inside them, outermost first. */
  open?: readonly OpenContainer[];
  /** The largest number of hops that the service walks on each side. The default is `DEPTH`. */
  depth?: number;
  /** An instant, or a date for its end in the time zone of the reader. The default is now. */
  asOf?: string;
  /** An earlier instant: the drawing marks what changed since. */
  since?: string;
}

export interface OpenContainer {
  id: string;
  level: NodeKind;
}

/** The default number of hops that the service walks. The distance between two datasets is two hops. */
export const DEPTH = 12;
const MAX_DEPTH = 1000;

export type DataLevel = Extract<NodeKind, 'PLATFORM' | 'DATASET' | 'VERSION' | 'PARTITION' | 'COLUMN'>;
export type ActorLevel = Extract<NodeKind, 'SYSTEM' | 'PIPELINE' | 'JOB' | 'RUN' | 'STAGE' | 'TASK' | 'OPERATOR'>;

export const DATA_LEVELS: readonly { value: DataLevel; label: string }[] = [
  { value: 'PLATFORM', label: 'platforms' },
  { value: 'DATASET', label: 'datasets' },
  { value: 'VERSION', label: 'versions' },
  { value: 'PARTITION', label: 'files' },
  { value: 'COLUMN', label: 'columns' },
];
export const ACTOR_LEVELS: readonly { value: ActorLevel; label: string }[] = [
  { value: 'SYSTEM', label: 'systems' },
  { value: 'PIPELINE', label: 'pipelines' },
  { value: 'JOB', label: 'jobs' },
  { value: 'RUN', label: 'runs' },
  { value: 'STAGE', label: 'stages' },
  { value: 'TASK', label: 'tasks' },
  { value: 'OPERATOR', label: 'operators' },
];

/** The default: every dataset and job. */
export const WHOLE: ViewChoice = { data: 'DATASET', actors: 'JOB', masks: [], ends: false };
export const HIDE_JOBS = 'kind=job';

const MASK = /^(kind|name|namespace|tag|owner|layer|node)(!?)=(.+)$/;

export function isWhole({ data, actors, masks, ends, open = [], ...limits }: ViewChoice): boolean {
  const isCoarse = data === WHOLE.data && actors === WHOLE.actors && open.length === 0;
  return isCoarse && masks.length === 0 && !ends && Object.values(limits).every((limit) => limit === undefined);
}

export function viewInput(choice: ViewChoice, focus: string): ViewInput {
  const { data, actors, masks, ends, between, open = [], depth = DEPTH, asOf } = choice;
  return {
    focus: [focus],
    depth,
    data,
    actors,
    masks: masks.flatMap((mask) => maskInput(mask) ?? []),
    endsOnly: ends,
    ...(between !== undefined && { between: { from: [between], to: [focus] } }),
    ...(open.length > 0 && { open: open.map(({ id, level }) => ({ id, level })) }),
    ...(asOf === undefined ? {} : { asOf: endOf(asOf) }),
  };
}

/** The end of a date in the time zone of the reader. Other texts stay unchanged. */
export function endOf(asOf: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(asOf) ? new Date(`${asOf}T23:59:59.999`).toISOString() : asOf;
}

/** A mask in the form of the service, or undefined for other texts. */
export function maskInput(text: string): { by: MaskBy; values: string[]; negated: boolean } | undefined {
  const match = MASK.exec(text);
  if (!match) return undefined;
  const [, by = '', not, value = ''] = match;
  return { by: by.toUpperCase() as MaskBy, values: [value], negated: not === '!' };
}

/** Change the level of data. Columns are drawn without jobs, because a job would join all of its columns. */
export function atLevel(choice: ViewChoice, data: DataLevel): ViewChoice {
  const masks = data === 'COLUMN' && !choice.masks.includes(HIDE_JOBS) ? [...choice.masks, HIDE_JOBS] : choice.masks;
  const next = { ...choice, data, masks };
  return isDrawable(next) ? next : { ...next, actors: 'JOB' };
}

/** Levels of actors that cannot be drawn with columns: what a column derives from is known by job. */
const FINER_THAN_JOBS: ReadonlySet<ActorLevel> = new Set(['RUN', 'STAGE', 'TASK', 'OPERATOR']);

/** Whether a view can have both levels. */
export function isDrawable({ data, actors }: Pick<ViewChoice, 'data' | 'actors'>): boolean {
  return data !== 'COLUMN' || !FINER_THAN_JOBS.has(actors);
}

/** The choice at the levels that every lineage has. */
export function atCoarseLevels({ open: _, ...choice }: ViewChoice): ViewChoice {
  return { ...choice, data: WHOLE.data, actors: WHOLE.actors };
}

/** Add or remove a mask. */
export function toggleMask(choice: ViewChoice, mask: string): ViewChoice {
  const without = choice.masks.filter((other) => other !== mask);
  return { ...choice, masks: without.length < choice.masks.length ? without : [...without, mask] };
}

/** Draw the content of a container inside it, at the next finer level. */
export function openContainer(choice: ViewChoice, { id, level }: OpenContainer): ViewChoice {
  return { ...choice, open: [...(choice.open ?? []).filter((other) => other.id !== id), { id, level }] };
}

/** Draw containers as single cards again. */
export function closeContainers({ open = [], ...choice }: ViewChoice, ids: ReadonlySet<string>): ViewChoice {
  const rest = open.filter(({ id }) => !ids.has(id));
  return rest.length > 0 ? { ...choice, open: rest } : choice;
}

/** The stops of the slider: levels of data and actors that belong together, outermost first. */
export const STOPS: readonly { data: DataLevel; actors: ActorLevel; label: string }[] = [
  { data: 'PLATFORM', actors: 'PIPELINE', label: 'platforms and pipelines' },
  { data: 'DATASET', actors: 'JOB', label: 'datasets and jobs' },
  { data: 'VERSION', actors: 'RUN', label: 'versions and runs' },
  { data: 'PARTITION', actors: 'STAGE', label: 'files and stages' },
];

/** The position of the slider. Other combinations of levels are at the stop of their data. */
export function stopOf({ data }: Pick<ViewChoice, 'data'>): number {
  return Math.max(0, data === 'COLUMN' ? 1 : STOPS.findIndex((stop) => stop.data === data));
}

/** The words for the levels of a drawing, next to the slider. */
export function stopWords({ data, actors }: Pick<ViewChoice, 'data' | 'actors'>): string {
  const stop = STOPS[stopOf({ data })];
  return stop?.data === data && stop.actors === actors
    ? stop.label
    : `${data.toLowerCase()}s and ${actors.toLowerCase()}s`;
}

/** Move the slider. Open containers close, because their content is drawn or left out everywhere. */
export function atStop({ open: _, ...choice }: ViewChoice, index: number): ViewChoice {
  const stop = STOPS[Math.max(0, Math.min(STOPS.length - 1, index))] ?? WHOLE;
  return { ...choice, data: stop.data, actors: stop.actors };
}

/** Read a choice from an address, undefined for the default. */
export function parseView(query: URLSearchParams): ViewChoice | undefined {
  const asOf = query.get('asOf') || undefined;
  const since = query.get('since') || undefined;
  const open = query.getAll('open').flatMap(parseOpen);
  const depth = Number.parseInt(query.get('depth') ?? '', 10);
  const between = query.get('between') || undefined;
  const choice: ViewChoice = {
    data: oneOf(DATA_LEVELS, query.get('level')) ?? WHOLE.data,
    actors: oneOf(ACTOR_LEVELS, query.get('actors')) ?? WHOLE.actors,
    masks: query.getAll('hide').filter((mask) => MASK.test(mask)),
    ends: query.get('ends') === '1',
    ...(between !== undefined && { between }),
    ...(open.length > 0 && { open }),
    ...(depth >= 1 && depth <= MAX_DEPTH && depth !== DEPTH && { depth }),
    ...(asOf === undefined ? {} : { asOf }),
    ...(since === undefined ? {} : { since }),
  };
  return isWhole(choice) ? undefined : choice;
}

/** Write the parts of a choice that differ from the default. */
export function formatView(choice: ViewChoice, query: URLSearchParams): void {
  const { data, actors, masks, ends, between, open = [], depth, asOf, since } = choice;
  if (data !== WHOLE.data) query.set('level', data.toLowerCase());
  if (actors !== WHOLE.actors) query.set('actors', actors.toLowerCase());
  for (const mask of masks) query.append('hide', mask);
  if (ends) query.set('ends', '1');
  if (between !== undefined) query.set('between', between);
  for (const { id, level } of open) query.append('open', `${level.toLowerCase()} ${id}`);
  if (depth !== undefined) query.set('depth', String(depth));
  if (asOf) query.set('asOf', asOf);
  if (since) query.set('since', since);
}

const LEVELS = [...DATA_LEVELS, ...ACTOR_LEVELS];

function parseOpen(text: string): OpenContainer[] {
  const [word = '', ...id] = text.split(' ');
  const level = oneOf(LEVELS, word);
  return level && id.length > 0 ? [{ id: id.join(' '), level }] : [];
}

function oneOf<Value extends string>(options: readonly { value: Value }[], text: string | null): Value | undefined {
  return options.find((option) => option.value === text?.toUpperCase())?.value;
}
