// @vitest-environment jsdom
import { QueryClient } from '@tanstack/react-query';
import { vi } from 'vitest';
import { addFailures, clearFailures, currentFailures } from './failures';
import { startLive, throttle } from './live';

/** A service that answers on the page's WebSocket. */
class FakeSocket {
  static all: FakeSocket[] = [];
  readonly sent: { type: string; id?: string; payload?: { query: string } }[] = [];
  onopen?: () => void;
  onclose?: () => void;
  onerror?: () => void;
  onmessage?: (event: { data: string }) => void;

  constructor(
    readonly address: URL,
    readonly protocol: string,
  ) {
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {}

  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
  FakeSocket.all = [];
  clearFailures();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('the page follows runs, counts failures once, asks open questions again, and connects again after an end', () => {
  const client = new QueryClient();
  const invalidate = vi.spyOn(client, 'invalidateQueries').mockResolvedValue();
  startLive(client);
  const [socket] = FakeSocket.all as [FakeSocket];
  expect([socket.address.protocol, socket.protocol]).toEqual(['ws:', 'graphql-transport-ws']);
  socket.onopen?.();
  socket.say({ type: 'connection_ack' });
  const queries = socket.sent.flatMap(({ payload }) => payload?.query ?? []);
  expect(queries).toHaveLength(2);
  const idOf = (words: string) => socket.sent.find(({ payload }) => payload?.query.includes(words))?.id;
  // The first answer is empty and means nothing.
  socket.say({ type: 'next', id: idOf('ChangedRuns'), payload: { data: { runs: [] } } });
  expect(invalidate).not.toHaveBeenCalled();
  socket.say({ type: 'next', id: idOf('ChangedRuns'), payload: { data: { runs: [{ id: 'run:1' }] } } });
  expect(invalidate).toHaveBeenCalledTimes(1);
  const failed = { id: 'run:1', containers: [{ id: 'job:a:b', kind: 'JOB', name: 'b' }] };
  for (let time = 0; time < 2; time++)
    socket.say({ type: 'next', id: idOf('FailedRuns'), payload: { data: { runs: [failed] } } });
  expect(currentFailures()).toEqual([{ run: 'run:1', job: 'b' }]);
  socket.say({ type: 'ping' });
  expect(socket.sent.at(-1)).toEqual({ type: 'pong' });
  socket.say({ type: 'error', id: '0' });
  vi.advanceTimersByTime(2_000);
  expect(FakeSocket.all).toHaveLength(2);
});

test('calls within a period become one call at its end', () => {
  const action = vi.fn();
  const run = throttle(action, 1000);
  for (let time = 0; time < 5; time++) run();
  expect(action).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  expect(action).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1000);
  run();
  expect(action).toHaveBeenCalledTimes(3);
});

test('failures are listed with the latest first until they are seen', () => {
  addFailures([
    { run: 'run:10', job: 'a' },
    { run: 'run:11', job: 'b' },
  ]);
  addFailures([{ run: 'run:12', job: 'c' }]);
  expect(currentFailures().map(({ run }) => run)).toEqual(['run:12', 'run:11', 'run:10']);
  clearFailures();
  addFailures([{ run: 'run:12', job: 'c' }]);
  expect(currentFailures()).toEqual([]);
});
