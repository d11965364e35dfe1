import { formatLocation, HOME, type Location, parseLocation, tracedRecord } from './location';

const traced: Location = {
  dataset: 'dataset:file:/out/report',
  file: 'file:/out/report/part 0.csv',
  row: 0,
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
