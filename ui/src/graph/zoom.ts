import type { MaskBy, NodeKind, ViewInput } from '../api/generated/graphql';

/** The levels, masks and time of a drawing. */
export interface ViewChoice {
  data: DataLevel;
  actors: ActorLevel;
  /** Masks in the form of the command line: `kind=job`, `name=*tmp*`, `tag!=pii`. */
  masks: string[];
  /** Whether only the beginnings and ends are visible. */
  ends: boolean;
  /** An instant, or a date for its end in the time zone of the reader. The default is now. */
  asOf?: string;
}

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

const MASK = /^(kind|name|namespace|tag|layer|node)(!?)=(.+)$/;

export function isWhole({ data, actors, masks, ends, asOf }: ViewChoice): boolean {
  return data === WHOLE.data && actors === WHOLE.actors && masks.length === 0 && !ends && asOf === undefined;
}

export function viewInput({ data, actors, masks, ends, asOf }: ViewChoice, focus: string, depth: number): ViewInput {
  return {
    focus: [focus],
    depth,
    data,
    actors,
    masks: masks.flatMap((mask) => maskInput(mask) ?? []),
    endsOnly: ends,
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
  return { ...choice, data, masks };
}

/** Add or remove a mask. */
export function toggleMask(choice: ViewChoice, mask: string): ViewChoice {
  const without = choice.masks.filter((other) => other !== mask);
  return { ...choice, masks: without.length < choice.masks.length ? without : [...without, mask] };
}

/** Read a choice from an address, undefined for the default. */
export function parseView(query: URLSearchParams): ViewChoice | undefined {
  const asOf = query.get('asOf') || undefined;
  const choice: ViewChoice = {
    data: oneOf(DATA_LEVELS, query.get('level')) ?? WHOLE.data,
    actors: oneOf(ACTOR_LEVELS, query.get('actors')) ?? WHOLE.actors,
    masks: query.getAll('hide').filter((mask) => MASK.test(mask)),
    ends: query.get('ends') === '1',
    ...(asOf === undefined ? {} : { asOf }),
  };
  return isWhole(choice) ? undefined : choice;
}

/** Write the parts of a choice that differ from the default. */
export function formatView({ data, actors, masks, ends, asOf }: ViewChoice, query: URLSearchParams): void {
  if (data !== WHOLE.data) query.set('level', data.toLowerCase());
  if (actors !== WHOLE.actors) query.set('actors', actors.toLowerCase());
  for (const mask of masks) query.append('hide', mask);
  if (ends) query.set('ends', '1');
  if (asOf) query.set('asOf', asOf);
}

function oneOf<Value extends string>(options: readonly { value: Value }[], text: string | null): Value | undefined {
  return options.find((option) => option.value === text?.toUpperCase())?.value;
}
