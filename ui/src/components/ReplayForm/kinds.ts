import type { ReplayKind } from '../../api/generated/graphql';

/** A part of the form. `source` is a dataset upstream, `records` selects some of its records or, for `SELECTIVE`, rows of the output. */
export type Part = 'source' | 'records' | 'edits';

export interface KindOption {
  /** Name of the option. Two options can be of the same kind. */
  value: string;
  kind: ReplayKind;
  label: string;
  /** The effect of a replay of this kind. */
  effect: string;
  parts: readonly Part[];
  /** Whether the dataset of the page is the source, not the output. */
  isSource?: boolean;
}

/** The kinds of replay that the page offers, in the order of the form. */
export const KINDS: readonly KindOption[] = [
  {
    value: 'verify',
    kind: 'VERIFY',
    label: 'Verify',
    effect: 'Runs all programs again with nothing changed, and compares every dataset that they write.',
    parts: [],
  },
  {
    value: 'exclusive',
    kind: 'EXCLUSIVE',
    label: 'Without records',
    effect: 'Runs the programs again without the selected records of a source.',
    parts: ['source', 'records'],
  },
  {
    value: 'what_if',
    kind: 'WHAT_IF',
    label: 'What if',
    effect: 'Runs the programs again with new values in the selected records of a source.',
    parts: ['source', 'records', 'edits'],
  },
  {
    value: 'selective',
    kind: 'SELECTIVE',
    label: 'Selected rows',
    effect: 'Runs the programs again on only those records that the selected rows of this dataset come from.',
    parts: ['records'],
  },
  {
    value: 'refresh',
    kind: 'REFRESH',
    label: 'Refresh',
    effect: 'A source has changed: runs the programs between the source and this dataset again, and no others.',
    parts: ['source'],
  },
  {
    value: 'dependents',
    kind: 'REFRESH',
    label: 'Refresh dependents',
    effect: 'This dataset has changed: runs all programs that depend on it again, and no others.',
    parts: [],
    isSource: true,
  },
  {
    value: 'step',
    kind: 'STEP',
    label: 'Step by step',
    effect: 'Runs all programs again, and stops before each: look at its records, leave some out, edit some, or end.',
    parts: [],
  },
];
