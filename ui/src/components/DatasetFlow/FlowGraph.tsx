import { type ComponentProps, useMemo } from 'react';
import { MOST_CARDS } from '../../graph/neighbourhood';
import { closeContainers, openContainer, toggleMask, type ViewChoice, WHOLE } from '../../graph/zoom';
import type { DrawnPart } from '../../hooks/useDraft';
import { amendAddress, navigate } from '../../hooks/useLocation';
import { useTimedCards } from '../../hooks/useTimedCards';
import type { Location } from '../../location/location';
import { LineageGraph } from '../LineageGraph/LazyGraph';
import { Note } from '../Note/Note';
import styles from './DatasetFlow.module.css';

type GraphProps = ComponentProps<typeof LineageGraph>;

interface FlowGraphProps extends Pick<GraphProps, 'view' | 'trace' | 'isLoading' | 'sceneRef' | 'children'> {
  draft: DrawnPart;
  location: Location;
  /** The levels of the drawing. A trace has none. */
  choice?: ViewChoice;
  onChoice?: (choice: ViewChoice) => void;
}

/** A graph whose state is in the address, and a note if it is full. */
export function FlowGraph({ draft, location, choice = WHOLE, onChoice, ...rest }: FlowGraphProps) {
  const growth = location.grown ?? [];
  const cards = useTimedCards(draft.cards);
  const timed = useMemo(() => ({ ...draft, cards }), [draft, cards]);
  return (
    <>
      <LineageGraph
        {...rest}
        draft={timed}
        centre={growth.at(-1)?.id}
        state={location.graph}
        onState={(graph) => amendAddress({ ...location, graph })}
        onGrow={draft.isFull ? undefined : (id, side) => navigate({ ...location, grown: [...growth, { id, side }] })}
        steps={location.steps}
        onSteps={(steps) => navigate({ ...location, steps })}
        {...(onChoice && {
          levels: choice,
          onLevels: onChoice,
          onEnter: (id, level) => onChoice(openContainer(choice, { id, level })),
          onLeave: (ids) => onChoice(closeContainers(choice, ids)),
          onMask: (mask) => onChoice(toggleMask(choice, mask)),
          onBetween: (between) => onChoice({ ...choice, between }),
        })}
      />
      {draft.former > 0 && (
        <div className={styles.notes}>
          <p className={styles.former}>
            {formerText(draft.former, location.former ?? false)}{' '}
            <button
              type="button"
              className={styles.continue}
              onClick={() => navigate({ ...location, former: !location.former })}
            >
              {location.former ? 'Hide' : 'Show'} former links
            </button>
          </p>
        </div>
      )}
      {draft.isFull && (
        <div className={styles.notes}>
          <Note>
            The drawing is full: {draft.cards.length.toLocaleString('en')} cards are drawn.{' '}
            {(location.cards ?? 0) < MOST_CARDS && (
              <button
                type="button"
                className={styles.continue}
                onClick={() => navigate({ ...location, cards: MOST_CARDS })}
              >
                Draw up to {MOST_CARDS.toLocaleString('en')}
              </button>
            )}{' '}
            To continue from a dataset at the edge, select it and open its rows.
          </Note>
        </div>
      )}
    </>
  );
}

function formerText(count: number, isShown: boolean): string {
  const links = `${count.toLocaleString('en')} former ${count === 1 ? 'link' : 'links'} at these cards`;
  return `${links} ${count === 1 ? 'is' : 'are'} ${isShown ? 'drawn' : 'not drawn'}: later runs of the jobs did not state ${count === 1 ? 'it' : 'them'}.`;
}
