import { parseId } from '../graph/ids';
import { formatLocation, HOME, type Location, parseLocation, tracedRecord } from './location';

const traced: Location = {
  dataset: 'dataset:file:/out/report',
  file: 'file:/out/report/part 0.csv',
  row: 0,
  version: '2026-02-03T09:31:04Z',
  column: 'a&b=c',
  semantics: 'influence',
  direction: 'forward',
  to: 'all',
  where: "x = 'é'",
};

test('an address gives back what it was made of', () => {
  expect(parseLocation(formatLocation(traced))).toEqual(traced);
});

test('the start has no query', () => {
  expect(formatLocation(HOME)).toBe('');
  expect(parseLocation('')).toEqual(HOME);
});

test('what belongs to a trace is not said without a record', () => {
  expect(formatLocation({ ...HOME, dataset: 'd', column: 'c', to: 't', semantics: 'influence' })).toBe('?dataset=d');
});

test.each(['row=-1', 'row=x', 'row='])('%s names no record', (row) => {
  expect(tracedRecord(parseLocation(`?dataset=d&file=f&${row}`))).toBeUndefined();
});

test('row 0 is a record, and unknown choices fall back to the usual ones', () => {
  const location = parseLocation('?dataset=d&file=f&row=0&semantics=magic&direction=sideways');
  expect(tracedRecord(location)).toEqual({ dataset: 'd', file: 'f', row: 0 });
  expect(location).toMatchObject({ semantics: 'witness', direction: 'backward' });
});

test('levels, masks and time are in the address, and only what differs from the usual', () => {
  const view = {
    data: 'PLATFORM',
    actors: 'JOB',
    masks: ['kind=job', 'name=tmp & co'],
    ends: true,
    asOf: '2026-03-01',
  } as const;
  const location: Location = { ...HOME, dataset: 'd', view: { ...view, masks: [...view.masks] } };
  expect(formatLocation(location)).toBe(
    '?dataset=d&level=platform&hide=kind%3Djob&hide=name%3Dtmp+%26+co&ends=1&asOf=2026-03-01',
  );
  expect(parseLocation(formatLocation(location))).toEqual(location);
  expect(parseLocation('?dataset=d&level=dataset&actors=moon')).toEqual({ ...HOME, dataset: 'd' });
});

test('growth and what lies around a trace are in the address', () => {
  const grown = [
    { side: 'after', id: 'dataset:f:/a b' },
    { side: 'before', id: 'job:s:j' },
  ] as const;
  const location: Location = { ...traced, around: true, grown };
  expect(parseLocation(formatLocation(location))).toEqual(location);
  expect(parseLocation('?dataset=d&grown=sideways+x&grown=after')).not.toHaveProperty('grown');
});

test('the order of the rows is in the address', () => {
  const location: Location = { ...HOME, dataset: 'd', sort: { column: 'max wind', descending: true } };
  expect(parseLocation(formatLocation(location))).toEqual(location);
});

test.each(['run #1', '50%', '50%25', 'a%2Fb', '[x]*?', 'a&b=c;d+e', 'new\nline', 'trail ', 'a\u0308'])(
  'a dataset and a file called %j are found again by their address',
  (name) => {
    const dataset = `dataset:file:/data/${encodeURIComponent(name)}`;
    const location: Location = { ...traced, dataset, file: `file:/data/${name}/part-0.parquet`, to: dataset };
    expect(parseLocation(formatLocation(location))).toEqual(location);
    expect(parseId(dataset).parts).toEqual(['file', `/data/${name}`]);
  },
);
