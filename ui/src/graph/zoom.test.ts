import { atLevel, formatView, HIDE_JOBS, isWhole, maskInput, parseView, toggleMask, viewInput, WHOLE } from './zoom';

test('a mask is written as on the command line', () => {
  expect(maskInput('kind=job')).toEqual({ by: 'KIND', values: ['job'], negated: false });
  expect(maskInput('tag!=pii=true')).toEqual({ by: 'TAG', values: ['pii=true'], negated: true });
  expect(maskInput('owner!=team:data')).toEqual({ by: 'OWNER', values: ['team:data'], negated: true });
  expect(maskInput('colour=red')).toBeUndefined();
  expect(maskInput('name=')).toBeUndefined();
});

test('columns hide the jobs, once, and other levels leave the masks alone', () => {
  const columns = atLevel(WHOLE, 'COLUMN');
  expect(columns.masks).toEqual([HIDE_JOBS]);
  expect(atLevel(columns, 'COLUMN').masks).toEqual([HIDE_JOBS]);
  expect(atLevel(WHOLE, 'PLATFORM').masks).toEqual([]);
});

test('a mask is taken off as it was put on', () => {
  const hidden = toggleMask(WHOLE, HIDE_JOBS);
  expect(isWhole(hidden)).toBe(false);
  expect(toggleMask(hidden, HIDE_JOBS)).toEqual(WHOLE);
});

test('the service is asked for what was chosen', () => {
  const asked = viewInput(
    { ...WHOLE, masks: ['name=*tmp*', 'nonsense'], ends: true, asOf: '2026-03-01' },
    'dataset:x:y',
  );
  expect(asked).toEqual({
    focus: ['dataset:x:y'],
    depth: 12,
    data: 'DATASET',
    actors: 'JOB',
    masks: [{ by: 'NAME', values: ['*tmp*'], negated: false }],
    endsOnly: true,
    asOf: new Date(2026, 2, 2, 0, 0, 0, -1).toISOString(),
  });
  expect(viewInput({ ...WHOLE, asOf: '2026-03-01T00:00:00Z' }, 'dataset:x:y').asOf).toBe('2026-03-01T00:00:00Z');
});

test('the ways between a node and the focus are in the address and in the request', () => {
  const choice = { ...WHOLE, masks: ['owner=ann'], between: 'dataset:s3:a b' };
  expect(isWhole({ ...WHOLE, between: choice.between })).toBe(false);
  const query = new URLSearchParams();
  formatView(choice, query);
  expect(parseView(new URLSearchParams(query.toString()))).toEqual(choice);
  expect(viewInput(choice, 'dataset:x:y').between).toEqual({ from: ['dataset:s3:a b'], to: ['dataset:x:y'] });
});
