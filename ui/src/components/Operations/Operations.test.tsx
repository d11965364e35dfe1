// @vitest-environment jsdom
import { render, screen } from '@testing-library/react';
import '../../../dev/dom';
import { Operations } from './Operations';

test('a record without readers is not called a source', () => {
  const { rerender } = render(<Operations hops={[]} nameOf={(id) => id} direction="forward" />);
  expect(screen.getByRole('note')).toHaveTextContent('No captured job read this record.');
  rerender(<Operations hops={[]} nameOf={(id) => id} direction="backward" />);
  expect(screen.getByRole('note')).toHaveTextContent('it is a source');
});
