import { useQuery } from '@tanstack/react-query';
import { ReplaysDocument } from '../api/generated/graphql';
import { request } from '../api/request';

const SHOWN = 20;
const WHILE_RUNNING = 2000;

/** The latest replays, wherever they were started. Asked for again while one runs. */
export function useReplays() {
  return useQuery({
    queryKey: ['replays'],
    queryFn: ({ signal }) => request(ReplaysDocument, { first: SHOWN }, signal),
    select: (answer) => answer.replays,
    refetchInterval: (query) => {
      const running = query.state.data?.replays.some(
        (replay) => replay.state === 'RUNNING' || replay.state === 'QUEUED',
      );
      return running ? WHILE_RUNNING : false;
    },
  });
}
