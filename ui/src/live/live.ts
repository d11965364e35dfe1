/** Live updates: new runs refresh the open page, and failed runs are counted. */
import type { QueryClient } from '@tanstack/react-query';
import { ChangedRunsDocument, FailedRunsDocument, type FailedRunsSubscription } from '../api/generated/first/graphql';
import { addFailures } from './failures';
import { openSocket, subscriptionOf } from './socket';

/** The page asks again at most this often. */
const REFRESH_MS = 15_000;
/** The time to the next attempt doubles up to the longest. */
const RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 120_000;
/** A page in the background gives its connection to others after this time: the service limits their number. */
const HIDDEN_MS = 60_000;
/** Answers about a fixed question or instant, and searches while somebody types. */
const FIXED: ReadonlySet<unknown> = new Set(['Trace', 'TraceJob', 'ViewDifference', 'Search', 'Find', 'session']);

/** Follow the runs of the service while the page is visible. */
export function startLive(client: QueryClient): void {
  const refresh = throttle(() => {
    client.invalidateQueries({ predicate: ({ queryKey }) => !FIXED.has(queryKey[0]) });
  }, REFRESH_MS);
  const subscriptions = [
    subscriptionOf(ChangedRunsDocument, ({ runs }) => runs.length > 0 && refresh()),
    subscriptionOf(FailedRunsDocument, ({ runs }) => addFailures(runs.map(failureOf))),
  ];
  let close: (() => void) | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = RETRY_MS;
  let hasLapsed = false;
  const connect = () => {
    clearTimeout(timer);
    if (close) return;
    close = openSocket(
      subscriptions,
      () => {
        wait = RETRY_MS;
        if (hasLapsed) refresh();
        hasLapsed = true;
      },
      () => {
        close = undefined;
        timer = setTimeout(connect, wait);
        wait = Math.min(2 * wait, LONGEST_RETRY_MS);
      },
    );
  };
  const disconnect = () => {
    close?.();
    close = undefined;
  };
  const follow = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(disconnect, HIDDEN_MS);
    else connect();
  };
  document.addEventListener('visibilitychange', follow);
  follow();
}

function failureOf({ id, containers }: FailedRunsSubscription['runs'][number]) {
  return { run: id, job: containers.find(({ kind }) => kind === 'JOB')?.name ?? 'a job' };
}

/** Call a function at once, and then at most once in a period. The last call is never lost. */
export function throttle(action: () => void, period: number): () => void {
  let isWaiting = false;
  let isMissed = false;
  const run = () => {
    if (isWaiting) {
      isMissed = true;
      return;
    }
    isWaiting = true;
    isMissed = false;
    action();
    setTimeout(() => {
      isWaiting = false;
      if (isMissed) run();
    }, period);
  };
  return run;
}
