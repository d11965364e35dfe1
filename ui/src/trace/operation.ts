import { number, properties, text } from '../facts/read';
import type { GraphNode, Step } from '../graph/types';

/** An operation of a plan in words. */
export interface OperationWords {
  /** `Filter`, `Window`, … */
  verb: string;
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

/** Read Spark's text of an operator. An unknown operator keeps its text without the numbers of its columns. */
export function wordsOfOperation(text: string): OperationWords {
  const plain = text.replace(/#\d+L?/g, '');
  const [word = plain] = plain.split(/[\s[(]/, 1);
  const rest = plain.slice(word.length).trim();
  const reader = READERS[word];
  return reader ? { verb: reader[0], detail: reader[1](rest) } : { verb: word, detail: rest };
}

/** The texts of the operators of a run in the order of the plan, the last operation first. */
export function operationsOf(operators: readonly GraphNode[]): string[] {
  const facts = operators.map(({ name, properties: own }) => ({ name, ...properties(own) }) as Record<string, unknown>);
  facts.sort((a, b) => (number(a.ordinal) ?? 0) - (number(b.ordinal) ?? 0));
  return facts.map((fact) => text(fact.text) ?? String(fact.name));
}

export function wordsOfStep({ operator, made, by }: Step): OperationWords {
  const results = made.map(({ column, expression }) => `${column} = ${expression}`).join(', ');
  const keys = by.map(condition).join(', ');
  return { verb: operator, detail: [results, keys && (results ? `by ${keys}` : keys)].filter(Boolean).join(' ') };
}

/** The computed columns of a projection. Without any, the number of its columns. */
function projectWords(rest: string): string {
  const items = topLevel(bracket(rest).inner);
  const computed = items.filter((item) => / AS /.test(item));
  return computed.length > 0 ? computed.map(condition).join(', ') : `to ${items.length} columns`;
}

function aggregateWords(rest: string): string {
  const keys = bracket(rest);
  const functions = topLevel(bracket(keys.after).inner).filter((item) => / AS /.test(item));
  return [functions.map(condition).join(', '), keys.inner && `by ${keys.inner}`].filter(Boolean).join(' ');
}

function windowWords(rest: string): string {
  const calls = bracket(rest);
  const partition = bracket(calls.after);
  const order = bracket(partition.after);
  const functions = topLevel(calls.inner).map((item) => condition(withoutCall(item, 'windowspecdefinition')));
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

/** Remove the outer parentheses and those around the parts of an AND, and write null checks as in SQL. */
function condition(text: string): string {
  return conjuncts(text)
    .join(' AND ')
    .replace(/isnotnull\(([^()]*)\)/g, '$1 IS NOT NULL')
    .replace(/isnull\(([^()]*)\)/g, '$1 IS NULL');
}

/** Shorten `origin ASC NULLS FIRST` to `origin`, and `wind DESC NULLS LAST` to `wind descending`. */
function names(list: string): string[] {
  return topLevel(list).map((item) =>
    item
      .replace(/ NULLS (FIRST|LAST)$/, '')
      .replace(/ ASC$/, '')
      .replace(/ DESC$/, ' descending'),
  );
}

/** The text in the first brackets, and the text after them. */
function bracket(text: string): { inner: string; after: string } {
  const start = text.indexOf('[');
  if (start < 0) return { inner: '', after: '' };
  const end = closing(text, start);
  return { inner: text.slice(start + 1, end), after: text.slice(end + 1) };
}

/** Remove the call of a function, with its arguments. */
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

/** The parts of an AND. Spark nests them in pairs of parentheses. Parts with an OR keep their parentheses. */
function conjuncts(text: string): string[] {
  const plain = withoutParentheses(text);
  const parts = splitAt(plain, ' AND ');
  if (parts.length === 1) return [plain];
  return parts.flatMap((part) => (part.includes(' OR ') ? [part] : conjuncts(part)));
}

/** Split a list at its commas, but not at commas within its items. */
function topLevel(list: string): string[] {
  return splitAt(list, ',');
}

/** Split a text at the separators outside parentheses. */
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

/** The index of the parenthesis that closes the one at `start`, or the end of a text that Spark has cut. */
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
