import { useMutation, useQueryClient } from '@tanstack/react-query';
import { keyOf, type Question } from '../api/query';
import { type Document, request } from '../api/request';
import { useSession } from './useSession';

interface Effects<Result> {
  /** Questions that the page asks again afterwards. */
  stale?: readonly Question[];
  onSuccess?: (answer: Result) => void;
}

/** A mutation that sends the token of the session. */
export function useChange<Result, Variables>(
  document: Document<Result, Variables>,
  { stale = [], onSuccess }: Effects<Result> = {},
) {
  const { token } = useSession();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (variables: Variables) => request(document, variables, undefined, token),
    onSuccess: async (answer) => {
      onSuccess?.(answer);
      await Promise.all(stale.map((question) => client.invalidateQueries({ queryKey: keyOf(question) })));
    },
    // An answer can hold a secret, so the cache does not keep it.
    gcTime: 0,
  });
}
