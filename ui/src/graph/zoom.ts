import type { MaskBy, NodeKind, ViewInput } from '../api/generated/graphql';

/** How a lineage is drawn: at which levels, without what, as of when. */
export interface ViewChoice {
  data: DataLevel;
  actors: ActorLevel;
  /** What is hidden, as the command line writes it: `kind=job`, `name=*tmp*`, `tag!=pii`. */
  masks: string[];
  /** Whether all but the beginnings and ends are hidden. */
  ends: boolean;
  /** A date, which means its end where the reader is, or an instant; absent: all that was ever stated. */
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

/** Every dataset and job: what is drawn if nothing is chosen. */
export const WHOLE: ViewChoice = { data: 'DATASET', actors: 'JOB', masks: [], ends: false };
export const HIDE_JOBS = 'kind=job';

const MASK = /^(kind|name|namespace|tag|layer|node)(!?)=(.+)$/;

/** Whether a choice is the usual one. */
export function isWhole({ data, actors, masks, ends, asOf }: ViewChoice): boolean {
  return data === WHOLE.data && actors === WHOLE.actors && masks.length === 0 && !ends && asOf === undefined;
}

/** What the service is asked. */
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

/** The instant at which a date ends where the reader is; what is no date stays. */
export function endOf(asOf: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(asOf) ? new Date(`${asOf}T23:59:59.999`).toISOString() : asOf;
}

/** A mask as the service takes it; none: it is not written as one. */
export function maskInput(text: string): { by: MaskBy; values: string[]; negated: boolean } | undefined {
  const found = MASK.exec(text);
  if (!found) return undefined;
  const [, by = '', not, value = ''] = found;
  return { by: by.toUpperCase() as MaskBy, values: [value], negated: not === '!' };
}

/** A choice of another level of data. Columns are drawn without jobs, which would join each with all others of the job. */
export function atLevel(choice: ViewChoice, data: DataLevel): ViewChoice {
  const masks = data === 'COLUMN' && !choice.masks.includes(HIDE_JOBS) ? [...choice.masks, HIDE_JOBS] : choice.masks;
  return { ...choice, data, masks };
}

/** With a mask if it is without, without if it is with. */
export function toggleMask(choice: ViewChoice, mask: string): ViewChoice {
  const without = choice.masks.filter((other) => other !== mask);
  return { ...choice, masks: without.length < choice.masks.length ? without : [...without, mask] };
}

/** The choice that an address holds; none: it is the usual one. */
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

/** Writes a choice into an address, as far as it is not the usual one. */
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
