import type { ViewDifferenceQuery } from '../../api/generated/first/graphql';
import { counted } from '../../facts/text';
import { instantText } from '../../facts/time';
import type { ChangeCounts } from '../../graph/changes';
import { datasetOfColumn, nameOfColumn, parseId } from '../../graph/ids';
import { jobTitleOf, pathOf } from '../../graph/names';
import { Note } from '../Note/Note';
import styles from './ChangeSummary.module.css';

interface ChangeSummaryProps {
  difference: ViewDifferenceQuery['viewDifference'];
  /** Changes of the drawn part. */
  drawn: ChangeCounts;
}

/** Entries of each list. The drawing marks them all. */
const SHOWN = 50;

/** The difference between two times in words: numbers, and the names on request. */
export function ChangeSummary({ difference, drawn }: ChangeSummaryProps) {
  const { before, after, nodesAdded, nodesRemoved, edgesAdded, edgesRemoved, kept, notes } = difference;
  const isSame = [nodesAdded, nodesRemoved, edgesAdded, edgesRemoved].every((list) => list.length === 0);
  const link = ({ src, dst }: { src: string; dst: string }) => `${nameOf(src)} → ${nameOf(dst)}`;
  const lists: [title: string, names: string[]][] = [
    ['Added', nodesAdded.map(({ id }) => nameOf(id))],
    ['Gone', nodesRemoved.map(({ id }) => nameOf(id))],
    ['Links added', edgesAdded.map(link)],
    ['Links gone', edgesRemoved.map(link)],
  ];
  return (
    <section className={styles.summary} aria-label="Changes">
      <p role="status">
        From {instantText(before)} to {instantText(after)}:{' '}
        {isSame
          ? 'nothing was added, and nothing is gone.'
          : `${counted(nodesAdded.length, 'node')} added, ${counted(nodesRemoved.length, 'node')} gone, ${counted(edgesAdded.length, 'link')} added, ${counted(edgesRemoved.length, 'link')} gone, ${counted(kept, 'link')} kept.`}
        {drawn.nodes.changed + drawn.links.changed > 0 &&
          ` Of the drawn part, ${counted(drawn.nodes.changed, 'card')} and ${counted(drawn.links.changed, 'link')} changed.`}
      </p>
      {!isSame && (
        <details>
          <summary>Names of the changes</summary>
          {lists
            .filter(([, names]) => names.length > 0)
            .map(([title, names]) => (
              <div key={title}>
                <h3>{title}</h3>
                <ul>
                  {names.slice(0, SHOWN).map((name) => (
                    <li key={name}>{name}</li>
                  ))}
                  {names.length > SHOWN && <li>and {(names.length - SHOWN).toLocaleString('en')} more</li>}
                </ul>
              </div>
            ))}
        </details>
      )}
      {notes.map((note) => (
        <Note key={note} tone="warn">
          {note}
        </Note>
      ))}
    </section>
  );
}

function nameOf(id: string): string {
  const [kind = ''] = id.split(':');
  if (kind === 'column') return `column ${nameOfColumn(id)} of ${pathOf(datasetOfColumn(id))}`;
  return `${kind} ${kind === 'job' ? jobTitleOf(id) : parseId(id).parts.slice(-1)[0]}`;
}
