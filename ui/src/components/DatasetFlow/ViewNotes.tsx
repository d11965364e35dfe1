import type { ViewQuery } from '../../api/generated/first/graphql';
import { DEPTH, type ViewChoice } from '../../graph/zoom';
import type { DrawnPart } from '../../hooks/useDraft';
import { Note } from '../Note/Note';
import styles from './DatasetFlow.module.css';

interface ViewNotesProps {
  answer: ViewQuery['view'];
  draft: DrawnPart;
  choice: ViewChoice;
  onChoice: (choice: ViewChoice) => void;
}

/** The parts of a view that are not drawn, with a control to continue, and the notes of the service. */
export function ViewNotes({ answer, draft, choice, onChoice }: ViewNotesProps) {
  const { nodes, beyond } = answer.totals;
  const depth = choice.depth ?? DEPTH;
  const isCut = draft.cards.some(({ cut }) => cut);
  const drawn = new Set(draft.cards.map(({ id }) => id));
  const missing = (choice.open ?? []).filter(({ id }) => !draft.cards.some((card) => card.parent === id));
  return (
    <>
      {nodes > draft.nodes && (
        <Note>
          The nearest {draft.nodes.toLocaleString('en')} of {nodes.toLocaleString('en')} nodes are drawn. To see more,
          click a number at the edge of a card, select a coarser level, or hide some nodes.
        </Note>
      )}
      {beyond > 0 && (
        <Note tone="warn">
          The drawing is cut after {depth} hops: at least {beyond.toLocaleString('en')} more nodes are further away.
          {isCut && choice.ends && ' A card with a torn edge is not a real beginning or end.'}
          {isCut && !choice.ends && ' The cards at the cut have a torn edge.'}{' '}
          <button
            type="button"
            className={styles.continue}
            onClick={() => onChoice({ ...choice, depth: depth + DEPTH })}
          >
            Continue for {DEPTH} more hops
          </button>
        </Note>
      )}
      {missing.map(({ id, level }) => (
        <Note key={id}>
          {drawn.has(id) ? 'One of the open cards' : 'A container of the address'} has no {level.toLowerCase()} in this
          lineage, so nothing is drawn inside it.
        </Note>
      ))}
      {answer.notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
    </>
  );
}
