/** Replays of the development world. A replay that was started comes a step further each time that somebody looks at it. */

interface Replay {
  id: string;
  state: string;
  startedAt: string;
  endedAt: string | null;
  shadow: string;
  error: string | null;
  steps: { job: string; state: string }[];
  differences: object[];
}

const PROGRAMS = ['clean', 'hourly_weather', 'report'];

function replay(id: string, startedAt: string, stepsDone: number): Replay {
  const isDone = stepsDone >= PROGRAMS.length;
  return {
    id,
    state: isDone ? 'COMPLETE' : stepsDone < 0 ? 'QUEUED' : 'RUNNING',
    startedAt,
    endedAt: isDone ? new Date(Date.parse(startedAt) + 35_000).toISOString() : null,
    shadow: `/demo/home/replays/${id}`,
    error: null,
    steps: PROGRAMS.map((name, index) => ({
      job: `${name}.execute_insert_into_hadoop_fs_relation_command.${name}`,
      state: index < stepsDone ? 'COMPLETE' : index === stepsDone ? 'RUNNING' : 'QUEUED',
    })),
    differences: isDone
      ? [
          {
            dataset: 'dataset:file:/demo/out/report',
            columns: ['hours', 'max_wind_mph', 'mean_wind_mph'],
            before: { origin: 'EWR', year: 2013, month: 2, hours: 669, max_wind_mph: 1048.36058, mean_wind_mph: 12.57 },
            after: { origin: 'EWR', year: 2013, month: 2, hours: 668, max_wind_mph: 36.8247, mean_wind_mph: 11.02 },
          },
        ]
      : [],
  };
}

export function replays(isEmpty: boolean) {
  const known = new Map<string, { startedAt: string; done: number }>();
  if (!isEmpty) known.set('20260203093104', { startedAt: '2026-02-03T09:31:04Z', done: PROGRAMS.length });
  const list = () => [...known].map(([id, { startedAt, done }]) => replay(id, startedAt, done)).reverse();
  return {
    query: {
      replays: list,
      replay: (_: unknown, { id }: { id: string }) => {
        const found = known.get(id);
        if (!found) return null;
        const current = replay(id, found.startedAt, found.done);
        found.done += 1;
        return current;
      },
    },
    mutation: {
      startReplay: () => {
        const id = `started${known.size}`;
        known.set(id, { startedAt: new Date().toISOString(), done: -1 });
        return replay(id, new Date().toISOString(), -1);
      },
      removeReplay: (_: unknown, { id }: { id: string }) => {
        const [found] = list().filter((each) => each.id === id);
        known.delete(id);
        return found ?? null;
      },
    },
  };
}
