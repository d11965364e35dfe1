import { useQueries, useQuery } from '@tanstack/react-query';
import { RowsDocument, type RowsQuery, type RowsQueryVariables } from '../api/generated/first/graphql';
import { type Answered, answerOf } from '../api/query';
import type { SortOrder } from '../trace/sorting';
import { listOf } from '../trace/values';

/** Rows of one request. */
export const PAGE_SIZE = 100;

export interface RowPage extends Rows {
  /** The predicate and order of these rows. They differ from the request while its rows load. */
  question: RowsQueryVariables;
}

type Rows = RowsQuery['rows'];
export type Row = RowPage['rows'][number];

export interface RowsRequest {
  /** Id of the dataset. */
  dataset: string;
  /** DuckDB predicate over its rows. */
  where?: string | undefined;
  sort?: SortOrder | undefined;
}

/**
 * The first page with columns and total, and the pages with the rows from `from` to `to`. While the rows of another predicate or order
 * load, the first page is the one before.
 */
export function useRows(request: RowsRequest, from: number, to: number) {
  const first = useQuery(pageQuery(request, 0));
  const total = first.data?.total ?? 0;
  const pages = first.isPlaceholderData ? [] : pagesBetween(from, Math.min(to, total - 1));
  const results = useQueries({ queries: pages.map((page) => pageQuery(request, page)) });
  const loaded = new Map(pages.map((page, index) => [page, results[index]?.data]));
  const rowAt = (index: number): Row | undefined => {
    const page = Math.floor(index / PAGE_SIZE);
    return (page === 0 ? first.data : loaded.get(page))?.rows[index % PAGE_SIZE];
  };
  return { first, total, rowAt };
}

/** A row as an object of column names and values. */
export function rowValues(page: Pick<RowPage, 'columns'>, row: Row): Record<string, unknown> {
  const values = listOf(row.values);
  return Object.fromEntries(page.columns.map(({ name }, index) => [name, values[index]]));
}

function pageQuery({ dataset, where, sort }: RowsRequest, page: number) {
  return {
    ...answerOf(RowsDocument, {
      dataset,
      where: where ?? null,
      order: sort ?? null,
      first: PAGE_SIZE,
      offset: page * PAGE_SIZE,
    }),
    select: ({ question, answer }: Answered<RowsQueryVariables, RowsQuery>): RowPage => ({ ...answer.rows, question }),
  };
}

function pagesBetween(from: number, to: number): number[] {
  const [first, last] = [Math.floor(from / PAGE_SIZE), Math.floor(to / PAGE_SIZE)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index).filter((page) => page > 0);
}
