import type { DirectionChoice, SemanticsChoice } from '../location/location';
import { formatValue } from './values';

/** A part of a sentence. */
export interface Phrase {
  text: string;
  strong?: boolean;
}

export interface SentenceFacts {
  /** Short name of the dataset of the record. */
  dataset: string;
  /** Number of the record: `line 3`, or `row 1` in a file without lines. */
  place: string;
  column?: string | undefined;
  /** Undefined if it cannot be read any more. */
  value?: unknown;
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Number of records in the answer. */
  records: number;
  /** Short names of the datasets of these records. */
  datasets: readonly string[];
  /** Short names of the datasets without records_ records. */
  coarse: readonly string[];
}

const VERBS: Record<DirectionChoice, Record<SemanticsChoice, string>> = {
  backward: { witness: ' comes from ', influence: ' was influenced by ' },
  forward: { witness: ' is needed for ', influence: ' had a part in ' },
};

/** The result of a trace as a sentence. */
export function sentenceOf(facts: SentenceFacts): Phrase[] {
  return [...subject(facts), ...predicate(facts), { text: '.' }];
}

export function plainText(phrases: readonly Phrase[]): string {
  return phrases.map((phrase) => phrase.text).join('');
}

function subject({ column, value, place, dataset, direction }: SentenceFacts): Phrase[] {
  const within = [{ text: ' in ' }, { text: dataset, strong: true }];
  if (column === undefined || direction === 'forward')
    return [{ text: place.charAt(0).toUpperCase() + place.slice(1) }, ...within];
  return [
    { text: value === undefined ? column : `${column} = ${formatValue(value)}`, strong: true },
    { text: ` of ${place}` },
    ...within,
  ];
}

function predicate({ records, datasets, coarse, semantics, direction }: SentenceFacts): Phrase[] {
  if (records === 0 && coarse.length === 0) return direction === 'backward' ? noSource() : noTarget();
  const verb = { text: VERBS[direction][semantics] };
  const exact = records > 0 ? [{ text: amount(records), strong: true }, ...inDatasets(' in ', datasets)] : [];
  const vague =
    coarse.length > 0
      ? [{ text: records > 0 ? ', and unknown records' : 'unknown records', strong: records === 0 }]
      : [];
  return [verb, ...exact, ...vague, ...inDatasets(' of ', coarse)];
}

function noSource(): Phrase[] {
  return [{ text: ' has ' }, { text: 'no source record', strong: true }];
}

function noTarget(): Phrase[] {
  return [{ text: ' went into ' }, { text: 'nothing', strong: true }, { text: ' that was captured' }];
}

function amount(records: number): string {
  return `${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`;
}

function inDatasets(joint: string, datasets: readonly string[]): Phrase[] {
  if (datasets.length > 2) return [{ text: joint }, { text: `${datasets.length} datasets`, strong: true }];
  return datasets.flatMap((name, index) => [{ text: index === 0 ? joint : ' and ' }, { text: name, strong: true }]);
}
