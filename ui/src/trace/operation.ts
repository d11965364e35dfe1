import { number, properties, text } from '../facts/read';
import type { GraphNode, Step } from '../graph/types';

/** An operation of a plan in words. The plan's own text is Spark's, made for those who wrote Spark. */
export interface OperationWords {
  /** What it is: `Filter`, `Window`, … */
  verb: string;
  /** What it does, as far as that says something. */
  detail: string;
}

type Reader = (rest: string) => string;

const READERS: Record<string, [verb: string, read: Reader]> = {
  Aggregate: ['Aggregate', aggregateWords],
  BatchEvalPython: ['Python UDF', pythonWords],
  ArrowEvalPython: ['Python UDF', pythonWords],
  Filter: ['Filter', condition],
  Join: ['Join', joinWords],
  Project: ['Project', projectWords],
  Repartition: ['Repartition', () => ''],
  Sort: ['Sort', (rest) => `by ${names(bracket(rest).inner).join(', ')}`],
  Window: ['Window', windowWords],
};

/** Reads Spark's text of an operator; one that is not known keeps its text, without the numbers of its attributes. */
export function wordsOfOperation(text: string): OperationWords {
  const plain = text.replace(/#\d+L?/g, '');
  const [word = plain] = plain.split(/[\s[(]/, 1);
  const rest = plain.slice(word.length).trim();
  const known = READERS[word];
  return known ? { verb: known[0], detail: known[1](rest) } : { verb: word, detail: rest };
}

/** The texts of a run's operators in the order of the plan: the last operation of the run is first. */
export function operationsOf(operators: readonly GraphNode[]): string[] {
  const facts = operators.map(({ name, properties: own }) => ({ name, ...properties(own) }) as Record<string, unknown>);
  facts.sort((a, b) => (number(a.ordinal) ?? 0) - (number(b.ordinal) ?? 0));
  return facts.map((fact) => text(fact.text) ?? String(fact.name));
}

/** What a step makes and by what it decides, in words. */
export function wordsOfStep({ operator, made, by }: Step): OperationWords {
  const results = made.map(({ column, expression }) => `${column} = ${expression}`).join(', ');
  const keys = by.map(condition).join(', ');
  return { verb: operator, detail: [results, keys && (results ? `by ${keys}` : keys)].filter(Boolean).join(' ') };
}

/** Only what a projection computes is of interest; what it passes on is counted. */
function projectWords(rest: string): string {
  const items = topLevel(bracket(rest).inner);
  const made = items.filter((item) => / AS /.test(item));
  return made.length > 0 ? made.map(condition).join(', ') : `to ${items.length} columns`;
}

function aggregateWords(rest: string): string {
  const keys = bracket(rest);
  const made = topLevel(bracket(keys.after).inner).filter((item) => / AS /.test(item));
  return [made.map(condition).join(', '), keys.inner && `by ${keys.inner}`].filter(Boolean).join(' ');
}

function windowWords(rest: string): string {
  const made = bracket(rest);
  const partition = bracket(made.after);
  const order = bracket(partition.after);
  const functions = topLevel(made.inner).map((item) => condition(withoutCall(item, 'windowspecdefinition')));
  return [
    functions.join(', '),
    partition.inner && `over ${partition.inner}`,
    order.inner && `in the order of ${names(order.inner).join(', ')}`,
  ]
    .filter(Boolean)
    .join(' ');
}

function joinWords(rest: string): string {
  const [how = '', ...on] = rest.split(', ');
  const kind = how.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return on.length > 0 ? `${kind} on ${condition(on.join(', '))}` : kind;
}

function pythonWords(rest: string): string {
  return topLevel(bracket(rest).inner).join(', ');
}

/** An expression without parentheses around all of it or around the parts of an AND, and with SQL's words for nulls. */
function condition(text: string): string {
  return conjuncts(text)
    .join(' AND ')
    .replace(/isnotnull\(([^()]*)\)/g, '$1 IS NOT NULL')
    .replace(/isnull\(([^()]*)\)/g, '$1 IS NULL');
}

/** `origin ASC NULLS FIRST` is `origin`; what is descending says so. */
function names(list: string): string[] {
  return topLevel(list).map((item) =>
    item
      .replace(/ NULLS (FIRST|LAST)$/, '')
      .replace(/ ASC$/, '')
      .replace(/ DESC$/, ' descending'),
  );
}

/** The text in the first brackets, and what comes after them. */
function bracket(text: string): { inner: string; after: string } {
  const start = text.indexOf('[');
  if (start < 0) return { inner: '', after: '' };
  const end = closing(text, start);
  return { inner: text.slice(start + 1, end), after: text.slice(end + 1) };
}

/** Takes the call of a function out of an expression, arguments and all. */
function withoutCall(text: string, name: string): string {
  const start = text.indexOf(`${name}(`);
  if (start < 0) return text;
  return `${text.slice(0, start).trimEnd()}${text.slice(closing(text, start + name.length) + 1)}`;
}

function withoutParentheses(text: string): string {
  const trimmed = text.trim();
  const whole = trimmed.startsWith('(') && closing(trimmed, 0) === trimmed.length - 1;
  return whole ? withoutParentheses(trimmed.slice(1, -1)) : trimmed;
}

/** Conditions that are joined by AND, each without its own parentheses: Spark nests them in pairs. What holds an OR keeps them. */
function conjuncts(text: string): string[] {
  const plain = withoutParentheses(text);
  const parts = splitAt(plain, ' AND ');
  if (parts.length === 1) return [plain];
  return parts.flatMap((part) => (part.includes(' OR ') ? [part] : conjuncts(part)));
}

/** The parts of a list, whose own parts may hold commas. */
function topLevel(list: string): string[] {
  return splitAt(list, ',');
}

/** What stands between separators that no parentheses enclose. */
function splitAt(text: string, separator: string): string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (let index = 0; index < text.length; index++) {
    depth += depthOf(text[index] ?? '');
    if (depth > 0 || !text.startsWith(separator, index)) continue;
    parts.push(text.slice(start, index).trim());
    start = index + separator.length;
  }
  return [...parts, text.slice(start).trim()].filter(Boolean);
}

/** Where the parenthesis or bracket that opens at `start` closes; the end of the text where Spark has cut it short. */
function closing(text: string, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    depth += depthOf(text[index] ?? '');
    if (depth === 0) return index;
  }
  return text.length;
}

function depthOf(character: string): number {
  if (character === '(' || character === '[') return 1;
  return character === ')' || character === ']' ? -1 : 0;
}
