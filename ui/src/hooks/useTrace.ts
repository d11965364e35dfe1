import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { TraceDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import { type Location, tracedRecord } from '../location/location';
import type { Target } from './useTarget';

const LIMIT = 1000;

/** Where the record that the location names came from, or where it went, as records of a target. The last answer stays while the next is on its way. */
export function useTrace(location: Location, { to, isPending }: Target) {
  const record = tracedRecord(location);
  const { column, semantics, direction } = location;
  return useQuery({
    queryKey: ['trace', record, column, semantics, direction, to],
    queryFn: ({ signal }) =>
      request(
        TraceDocument,
        {
          dataset: record?.dataset ?? '',
          rows: record ? [{ file: record.file, row: record.row }] : [],
          column: column ?? null,
          semantics: semantics === 'witness' ? 'WITNESS' : 'INFLUENCE',
          forward: direction === 'forward',
          to: to ?? null,
          limit: LIMIT,
        },
        signal,
      ),
    select: (answer) => answer.trace,
    enabled: record !== undefined && !isPending,
    placeholderData: keepPreviousData,
  });
}
