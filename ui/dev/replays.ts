/** Replays of the development world. A replay that was started comes a step further with each look, if the work proceeds. */
import type { Work } from './work.ts';

interface Started {
  startedAt: string;
  kind: string;
  /** Number of programs that have ended, -1 for a replay in the queue. */
  done: number;
  error: string | null;
  commit: object | null;
}

const PROGRAMS = ['clean', 'hourly_weather', 'report'];
const REPORT = 'dataset:file:/demo/out/report';
const jobOf = (name: string) => `${name}.execute_insert_into_hadoop_fs_relation_command.${name}`;

const DIFFERENCE = {
  dataset: REPORT,
  columns: ['hours', 'max_wind_mph', 'mean_wind_mph'],
  before: { origin: 'EWR', year: 2013, month: 2, hours: 669, max_wind_mph: 1048.36058, mean_wind_mph: 12.57 },
  after: { origin: 'EWR', year: 2013, month: 2, hours: 668, max_wind_mph: 36.8247, mean_wind_mph: 11.02 },
};

function replay(id: string, { startedAt, kind, done, error, commit }: Started) {
  const isDone = done >= PROGRAMS.length;
  const hasChanged = isDone && kind !== 'VERIFY';
  return {
    id,
    state: error ? 'FAILED' : isDone ? 'COMPLETE' : done < 0 ? 'QUEUED' : 'RUNNING',
    kind,
    output: REPORT,
    startedAt,
    startedBy: 'ana',
    records:
      kind === 'EXCLUSIVE' ? [{ use: 'LEFT_OUT', file: 'file:/demo/raw/weather.csv', rows: [1009], total: 1 }] : [],
    endedAt: isDone || error ? new Date(Date.parse(startedAt) + 35_000).toISOString() : null,
    shadow: `/demo/home/replays/${id}`,
    error,
    steps: PROGRAMS.map((name, index) => ({
      job: jobOf(name),
      state: index < done ? 'COMPLETE' : index === done ? 'RUNNING' : 'QUEUED',
      seconds: null,
    })),
    notes: ['The replay starts at the raw data.'],
    differing: hasChanged ? 1 : 0,
    differences: hasChanged ? [DIFFERENCE] : [],
    commit,
  };
}

function commitOf(state: string) {
  const times = { at: '2026-02-03T10:00:00Z', keptUntil: '2026-02-10T10:00:00Z' };
  return { ...times, datasets: [{ dataset: REPORT, state, old: '/demo/out/.report.old' }] };
}

export function replays(isEmpty: boolean, work: Work) {
  const known = new Map<string, Started>();
  const start = (id: string, startedAt: string, kind: string, done: number) =>
    known.set(id, { startedAt, kind, done, error: null, commit: null });
  if (!isEmpty) start('20260203093104', '2026-02-03T09:31:04Z', 'EXCLUSIVE', PROGRAMS.length);
  const find = (id: string) => {
    const found = known.get(id);
    return found ? replay(id, found) : null;
  };
  const change =
    (part: Partial<Started>) =>
    (_: unknown, { id }: { id: string }) => {
      Object.assign(known.get(id) ?? {}, part);
      return find(id);
    };
  return {
    query: {
      replays: () => [...known].map(([id, found]) => replay(id, found)).reverse(),
      replay: (_: unknown, { id }: { id: string }) => {
        const current = find(id);
        const found = known.get(id);
        if (found && !found.error && work.proceeds) found.done += 1;
        return current;
      },
      replayDryRun: (_: unknown, { kind }: { kind: string }) => ({
        kind,
        output: REPORT,
        starts: ['dataset:file:/demo/raw'],
        steps: PROGRAMS.map((name) => ({
          job: jobOf(name),
          script: `${name}.py`,
          writes: [`dataset:file:/demo/out/${name}`],
          seconds: 11,
        })),
        excluded: kind === 'EXCLUSIVE' ? 1 : 0,
        kept: 0,
        edited: 0,
        seconds: 33,
        diskBytes: 250_000,
        diskFree: 9e9,
        unknownSizes: [],
        notes: [],
      }),
    },
    mutation: {
      startReplay: (_: unknown, { kind }: { kind: string }) => {
        const id = `started${known.size}`;
        start(id, new Date().toISOString(), kind, -1);
        return find(id);
      },
      cancelReplay: change({ error: 'The replay was cancelled.' }),
      approveReplay: (_: unknown, { id }: { id: string }) => find(id),
      commitReplay: change({ commit: commitOf('DONE') }),
      undoReplay: change({ commit: commitOf('UNDONE') }),
      removeReplay: (_: unknown, { id }: { id: string }) => {
        const found = find(id);
        known.delete(id);
        return found;
      },
    },
  };
}
