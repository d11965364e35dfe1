import { columnId, datasetOfColumn, nameOfColumn, parseId } from './ids';

test('an id gives back its parts, decoded', () => {
  expect(parseId('dataset:s3%3A//bucket:a%3Ab/c')).toEqual({ kind: 'dataset', parts: ['s3://bucket', 'a:b/c'] });
});

test('a column is named within its dataset as the service does it', () => {
  expect(columnId('dataset:file:/data/x', 'wind speed (m/s): ü')).toBe(
    'column:file:/data/x:wind%20speed%20%28m/s%29%3A%20%C3%BC',
  );
});

test('a column leads back to its dataset and its name', () => {
  const id = columnId('dataset:s3%3A//bucket:orders', "a'b:c");
  expect(datasetOfColumn(id)).toBe('dataset:s3%3A//bucket:orders');
  expect(nameOfColumn(id)).toBe("a'b:c");
});

test('an id with a broken escape is shown as it is', () => {
  expect(parseId('dataset:file:100%')).toEqual({ kind: 'dataset', parts: ['file', '100%'] });
});
