import type { DirectionChoice, SemanticsChoice } from '../location/location';
import { formatValue } from './values';

/** A piece of a sentence; what is `strong` stands out. */
export interface Phrase {
  text: string;
  strong?: boolean;
}

export interface SentenceFacts {
  /** Short name of the dataset that the row is of. */
  dataset: string;
  row: number;
  column?: string | undefined;
  value?: unknown;
  semantics: SemanticsChoice;
  direction: DirectionChoice;
  /** Number of records in the answer. */
  total: number;
  /** Whether every entry of the answer is a record. */
  recordGrain: boolean;
  /** Short names of the datasets in which the answer lies. */
  datasets: readonly string[];
}

/** What a trace found, as one would say it. */
export function sentenceOf(facts: SentenceFacts): Phrase[] {
  return [...subject(facts), ...(facts.direction === 'backward' ? cameFrom(facts) : wentInto(facts))];
}

/** The same as plain text, for those who listen. */
export function plainText(phrases: readonly Phrase[]): string {
  return phrases.map((phrase) => phrase.text).join('');
}

function subject({ column, value, row, dataset, direction }: SentenceFacts): Phrase[] {
  const where: Phrase[] = [{ text: `row ${row}` }, { text: ' in ' }, { text: dataset, strong: true }];
  if (column === undefined || direction === 'forward') return [{ text: `Row ${row}` }, ...where.slice(1)];
  return [{ text: `${column} = ${formatValue(value)}`, strong: true }, { text: ' of ' }, ...where];
}

function cameFrom({ total, recordGrain, datasets, semantics }: SentenceFacts): Phrase[] {
  if (total === 0) return [{ text: ' has ' }, { text: 'no source record', strong: true }, { text: '.' }];
  const count = { text: amount(total, recordGrain), strong: true };
  if (semantics === 'witness') return [{ text: ' comes from ' }, count, ...inDatasets(datasets), { text: '.' }];
  return [{ text: ' was influenced by ' }, count, ...inDatasets(datasets), { text: '.' }];
}

function wentInto({ total, recordGrain, datasets, semantics }: SentenceFacts): Phrase[] {
  if (total === 0) return [{ text: ' went into ' }, { text: 'nothing', strong: true }, { text: ' that was captured.' }];
  const verb = semantics === 'witness' ? ' is needed for ' : ' had a part in ';
  return [{ text: verb }, { text: amount(total, recordGrain), strong: true }, ...inDatasets(datasets), { text: '.' }];
}

/** `1 record`, `669 records`, or `2 datasets or parts of them` where something is known more coarsely. */
export function amount(total: number, recordGrain: boolean): string {
  const noun = recordGrain ? 'record' : 'entry';
  const plural = recordGrain ? 'records' : 'entries';
  return `${total.toLocaleString('en')} ${total === 1 ? noun : plural}`;
}

function inDatasets(datasets: readonly string[]): Phrase[] {
  if (datasets.length === 0) return [];
  if (datasets.length > 2) return [{ text: ' in ' }, { text: `${datasets.length} datasets`, strong: true }];
  return datasets.flatMap((name, index) => [{ text: index === 0 ? ' in ' : ' and ' }, { text: name, strong: true }]);
}
