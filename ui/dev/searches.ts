/** Searches for culprits as a service has them: started by one mutation, then running until `end`. */
interface Started {
  kind: string;
  subject: string;
  /** Fields of the search once it has ended. */
  result: object;
  /** Fields of the search while it runs. */
  progress?: object;
}

export function searchWorld(mutationName: string, { kind, subject, result, progress = {} }: Started) {
  const asked: object[] = [];
  const searches: object[] = [];
  const base = {
    id: 's1',
    kind,
    subject,
    state: 'RUNNING',
    startedAt: '2026-02-03T09:00:00Z',
    endedAt: null,
    error: null,
    problem: null,
    step: null,
    function: null,
    trials: 4,
    left: 12,
    isMinimal: true,
    count: 1,
    records: [],
    origins: [],
    notes: [],
    doing: null,
    comparison: null,
    cleaning: null,
  };
  const end = (fields: object = { state: 'COMPLETE', ...result }) => {
    searches.splice(0, 1, { ...base, ...fields });
  };
  const mutation = {
    [mutationName]: (_: unknown, variables: object) => {
      asked.push(variables);
      searches.splice(0, 1, { ...base, ...progress });
      return base;
    },
    cancelCulpritSearch: () => {
      end({ state: 'FAILED', error: 'The search was cancelled.' });
      return base;
    },
  };
  return { asked, end, query: { culpritSearches: () => searches }, mutation, scopes: ['read', 'replay'] };
}
