import type { TypedDocumentString } from './generated/graphql';
import { request } from './request';

/** Options of React Query for a question. A question that needs more than the scope `read` also needs the session's token. */
export function queryOf<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  token?: string | null,
) {
  return {
    queryKey: [...keyOf(document), variables],
    queryFn: ({ signal }: { signal: AbortSignal }) => request(document, variables, signal, token),
  };
}

/** The cache key of all answers to a question: the name of its operation. */
export function keyOf(document: Question): [name: string] {
  return [/(?:query|mutation) (\w+)/.exec(document.toString())?.[1] ?? ''];
}

export interface Question {
  toString: () => string;
}
