import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { SIDES, type Side } from '../../graph/neighbourhood';
import type { Line, SceneCard } from '../../graph/scene';
import { isData } from '../../graph/types';
import { Icon } from '../Icon/Icon';
import styles from './Card.module.css';

export type CardData = CardActions & { card: SceneCard };

export interface CardActions extends Record<string, unknown> {
  /** Id of the card or column whose details are open. */
  selected: string | undefined;
  onSelect: (id: string) => void;
  onToggle: (id: string) => void;
  /** Absent if the drawing has no space for more cards. */
  onGrow: ((id: string, side: Side) => void) | undefined;
}

const BUTTON = 'nodrag nopan';

/** A node of the graph: the name opens its details, the arrow its lines, and `+3` draws more neighbours. */
export function Card({ data }: NodeProps<Node<CardData>>) {
  const { card, selected, onSelect, onToggle, onGrow } = data;
  const { id, title, content, isOpen, neighbours } = card;
  const isSelected = selected === id;
  return (
    <div className={classesOf(card, isSelected)}>
      <div className={styles.head}>
        <Anchors />
        <button
          type="button"
          className={`${styles.select} ${BUTTON}`}
          onClick={() => onSelect(id)}
          aria-pressed={isSelected}
          title={card.name}
        >
          <Icon name={isData(card) ? 'dataset' : 'job'} />
          <span className={styles.words}>
            <b>{title}</b>
            <small>{card.caption}</small>
          </span>
        </button>
        {content && (
          <button
            type="button"
            className={`${styles.toggle} ${BUTTON}`}
            onClick={() => onToggle(id)}
            aria-expanded={isOpen}
            aria-label={`${isOpen ? 'Hide' : 'Show'} the ${content} of ${title}`}
          >
            <Icon name="chevron" size={14} />
          </button>
        )}
      </div>
      {isOpen && <Lines card={card} selected={selected} onSelect={onSelect} />}
      {neighbours &&
        SIDES.map((side) => neighbours[side] > 0 && <Grow key={side} card={card} side={side} onGrow={onGrow} />)}
    </div>
  );
}

function Grow({ card, side, onGrow }: { card: SceneCard; side: Side; onGrow: CardData['onGrow'] }) {
  const count = card.neighbours?.[side].toLocaleString('en');
  const label = `${count} more ${side} ${card.title}`;
  return (
    <button
      type="button"
      className={`${styles.grow} ${styles[side]} ${BUTTON}`}
      disabled={!onGrow}
      onClick={() => onGrow?.(card.id, side)}
      aria-label={`Draw ${label}`}
      title={onGrow ? `Draw ${label}` : `${label}. The drawing is full: open the dataset to see them.`}
    >
      {side === 'before' ? `‹ +${count}` : `+${count} ›`}
    </button>
  );
}

type LinesProps = Pick<CardData, 'card' | 'selected' | 'onSelect'>;

function Lines({ card: { content, lines, rest, isPending }, selected, onSelect }: LinesProps) {
  const keys = lines.filter((line) => line.isKey).length;
  return (
    <div className={styles.lines}>
      {lines.map((line, index) => {
        const classes = [
          styles.line,
          line.isTraced && styles.tracedLine,
          line.isKey && styles.key,
          keys > 0 && index === keys && styles.afterKeys,
          line.key === selected && styles.selected,
        ];
        return (
          <div key={line.key} className={classes.filter(Boolean).join(' ')} title={line.text}>
            {content === 'operations' ? (
              <LineText line={line} />
            ) : (
              <>
                <Anchors id={line.key} />
                <button
                  type="button"
                  className={BUTTON}
                  aria-pressed={line.key === selected}
                  onClick={() => onSelect(line.key)}
                >
                  <LineText line={line} />
                </button>
              </>
            )}
          </div>
        );
      })}
      {rest > 0 && <p className={styles.none}>and {rest} more</p>}
      {lines.length === 0 && <p className={styles.none}>{isPending ? 'Loading …' : `No ${content} are known.`}</p>}
    </div>
  );
}

function LineText({ line: { text, note, isKey } }: { line: Line }) {
  return (
    <>
      <span>{text}</span>
      {isKey && <em title="Jobs join or group rows by this column">key</em>}
      {note && <small>{note}</small>}
    </>
  );
}

/** The ends of links at a column, or at the head of the card. */
function Anchors({ id = '' }: { id?: string }) {
  return (
    <>
      <Handle type="target" position={Position.Left} id={anchorId('in', id)} isConnectable={false} />
      <Handle type="source" position={Position.Right} id={anchorId('out', id)} isConnectable={false} />
    </>
  );
}

export function anchorId(direction: 'in' | 'out', column = ''): string {
  return column === '' ? direction : `${direction} ${column}`;
}

function classesOf(card: SceneCard, isSelected: boolean): string {
  const { state = 'plain' } = card;
  return [
    styles.card,
    !isData(card) && styles.job,
    state !== 'plain' && styles[state],
    card.isCoarse && styles.coarse,
    card.isFocus && styles.focus,
    card.isOpen && styles.open,
    isSelected && styles.selected,
  ]
    .filter(Boolean)
    .join(' ');
}
