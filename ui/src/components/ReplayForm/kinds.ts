import type { ReplayKind } from '../../api/generated/graphql';

/** A part of the form. `source` is a dataset upstream, `records` selects some of its records or, for `SELECTIVE`, rows of the output. */
export type Part = 'source' | 'records' | 'edits';

export interface KindOption {
  value: ReplayKind;
  label: string;
  /** The effect of a replay of this kind. */
  effect: string;
  parts: readonly Part[];
}

/** The kinds of replay that the page offers, in the order of the form. */
export const KINDS: readonly KindOption[] = [
  {
    value: 'VERIFY',
    label: 'Verify',
    effect: 'Runs all programs again with nothing changed, and compares every dataset that they write.',
    parts: [],
  },
  {
    value: 'EXCLUSIVE',
    label: 'Without records',
    effect: 'Runs the programs again without the selected records of a source.',
    parts: ['source', 'records'],
  },
  {
    value: 'WHAT_IF',
    label: 'What if',
    effect: 'Runs the programs again with new values in the selected records of a source.',
    parts: ['source', 'records', 'edits'],
  },
  {
    value: 'SELECTIVE',
    label: 'Selected rows',
    effect: 'Runs the programs again on only those records that the selected rows of this dataset come from.',
    parts: ['records'],
  },
  {
    value: 'REFRESH',
    label: 'Refresh',
    effect: 'A source has changed: runs the programs between the source and this dataset again, and no others.',
    parts: ['source'],
  },
];
