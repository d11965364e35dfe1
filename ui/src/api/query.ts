import { keepPreviousData } from '@tanstack/react-query';
import { type Document, request } from './request';

/** Options of React Query for a question. A question that needs more than the scope `read` also needs the session's token. */
export function queryOf<Result, Variables>(
  document: Document<Result, Variables>,
  variables: Variables,
  token?: string | null,
) {
  return {
    queryKey: [...keyOf(document), variables],
    queryFn: ({ signal }: { signal: AbortSignal }) => request(document, variables, signal, token),
  };
}

/** An answer with the variables of its question. */
export interface Answered<Variables, Result> {
  question: Variables;
  answer: Result;
}

/**
 * Options like those of `queryOf`. While the answer to a new question loads, the answer to the question before stays. Each answer contains
 * its own question, so the words next to it can never be those of another question: take them from `question`, not from the address.
 */
export function answerOf<Result, Variables>(
  document: Document<Result, Variables>,
  variables: Variables,
  ask: (signal: AbortSignal) => Promise<Result> = (signal) => request(document, variables, signal),
) {
  return {
    queryKey: [...keyOf(document), 'with its question', variables],
    queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Answered<Variables, Result>> => ({
      question: variables,
      answer: await ask(signal),
    }),
    placeholderData: keepPreviousData<Answered<Variables, Result>>,
  };
}

/** The cache key of all answers to a question: the name of its operation. */
export function keyOf(document: Question): [name: string] {
  return [/(?:query|mutation) (\w+)/.exec(document.toString())?.[1] ?? ''];
}

export interface Question {
  toString: () => string;
}
