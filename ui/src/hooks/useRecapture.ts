import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { RecapturesDocument, StartRecaptureDocument } from '../api/generated/graphql';
import { request } from '../api/request';
import { useSession } from './useSession';
import { isRunning } from './useTraceJob';

const KEY = ['recaptures'];
const WHILE_RUNNING = 1000;

/** The latest recapture of a dataset, wherever it was started, and how to start one. It goes on where the page is left. */
export function useRecapture(dataset: string) {
  const client = useQueryClient();
  const { token } = useSession();
  const recaptures = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => request(RecapturesDocument, {}, signal),
    select: (answer) => answer.recaptures.find((recapture) => recapture.dataset === dataset),
    refetchInterval: (query) =>
      query.state.data?.recaptures.some(({ state }) => isRunning(state)) ? WHILE_RUNNING : false,
  });
  const start = useMutation({
    mutationFn: () => request(StartRecaptureDocument, { dataset }, undefined, token),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
  return { recapture: recaptures.data, start };
}
