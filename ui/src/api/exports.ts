/** Addresses of the service's exports, and their files. */
import { DEPTH, endOf, type ViewChoice, viewInput } from '../graph/zoom';
import type { TraceQueryVariables } from './generated/first/graphql';

/** The scope that an export of provenance needs. */
export const EXPORT_SCOPE = 'export';
/** The scopes that an export about records needs. */
export const RECORD_EXPORT_SCOPES = [EXPORT_SCOPE, 'records'] as const;

/** The provenance (W3C PROV, as JSON) of the view around a node. */
export function provOfView(
  focus: string,
  choice: ViewChoice,
  direction: 'upstream' | 'downstream' | 'both' = 'both',
): string {
  const { data, actors, open = [], asOf } = choice;
  const { masks, endsOnly, depth } = viewInput(choice, focus);
  const query = new URLSearchParams({ target: focus, view: 'true', direction, depth: String(depth ?? DEPTH) });
  query.append('level', data.toLowerCase());
  query.append('level', actors.toLowerCase());
  for (const { id, level } of open) query.append('open', `${id}=${level.toLowerCase()}`);
  for (const { by, values, negated } of masks ?? [])
    query.append('mask', `${by.toLowerCase()}${negated ? '!' : ''}=${values.join(',')}`);
  if (endsOnly) query.set('ends', 'true');
  if (asOf !== undefined) query.set('as_of', endOf(asOf));
  return `api/v1/prov?${query}`;
}

/** The provenance of a traced record. */
export function provOfTrace(question: TraceQueryVariables): string {
  const query = traceQuery(question);
  if (question.forward) query.set('forward', 'true');
  return `api/v1/prov?${query}`;
}

/** A signed bundle with the answer of a trace and the log entries behind it. A bundle is about the sources of a record. */
export function evidenceOfTrace(question: TraceQueryVariables): string {
  return `api/v1/evidence?${traceQuery(question)}`;
}

function traceQuery({ dataset, rows, column, semantics, to, asOf }: TraceQueryVariables): URLSearchParams {
  const query = new URLSearchParams({ target: dataset, semantics: semantics.toLowerCase() });
  const [record] = [rows ?? []].flat();
  if (record) query.set('file', record.file);
  if (record) query.set('row', String(record.row));
  if (column) query.set('column', column);
  if (to) query.set('to', to);
  if (asOf) query.set('as_of', asOf);
  return query;
}
