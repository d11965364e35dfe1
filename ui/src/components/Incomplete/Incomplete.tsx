import type { TraceAnswerFragment } from '../../api/generated/first/graphql';
import { gapTitle } from '../../graph/names';
import { Note } from '../Note/Note';

const EFFECT: Record<string, string> = {
  superset: 'the answer can contain too many records',
  missing: 'the answer can be incomplete',
  unreadable: 'some values cannot be read any more',
  version: 'the lineage is complete',
};

/** The missing or inexact parts of an answer. */
export function Incomplete({
  answer: { exact, incomplete },
}: {
  answer: Pick<TraceAnswerFragment, 'exact' | 'incomplete'>;
}) {
  if (incomplete.length === 0) return null;
  return (
    <Note tone="warn" title={exact ? 'Notes about this answer' : 'Why this is not exact'}>
      <ul>
        {incomplete.map(({ what, reason, effect }) => (
          <li key={`${what} ${reason}`}>
            <b>{gapTitle(what)}</b>: {reason} ({EFFECT[effect] ?? effect})
          </li>
        ))}
      </ul>
    </Note>
  );
}
