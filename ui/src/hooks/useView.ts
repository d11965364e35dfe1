import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ViewDocument, type ViewInput, ViewLinkDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import { MAX_CARDS } from '../graph/neighbourhood';

/** Columns are drawn within the boxes of their datasets. */
const MOST_COLUMNS = 600;

/** A lineage at the levels and under the masks asked for. */
export function useView(view: ViewInput) {
  return useQuery({
    queryKey: ['view', view],
    queryFn: ({ signal }) =>
      request(ViewDocument, { view, first: view.data === 'COLUMN' ? MOST_COLUMNS : MAX_CARDS }, signal),
    select: (answer) => answer.view,
    placeholderData: keepPreviousData,
  });
}

/** What one link of a view stands for. */
export function useViewLink(view: ViewInput, src: string, dst: string) {
  return useQuery({
    queryKey: ['view-link', view, src, dst],
    queryFn: ({ signal }) => request(ViewLinkDocument, { view, src, dst }, signal),
    select: (answer) => answer.viewLink,
  });
}
