import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { STATE_WORDS, stateWordsOf } from '../../facts/runs';
import { SIDES, type Side } from '../../graph/neighbourhood';
import type { Line, SceneCard } from '../../graph/scene';
import { isData } from '../../graph/types';
import { finerLevel } from '../../graph/view';
import type { NodeFacts } from '../../hooks/useFacts';
import { Icon } from '../Icon/Icon';
import styles from './Card.module.css';
import { anchorId } from './elements';
import { useGraph } from './graphContext';
import { usePathState } from './pathHighlight';
import { StateMark } from './StateMark';
import { Title } from './Title';

export interface CardData extends Record<string, unknown> {
  card: SceneCard;
}

const BUTTON = 'nodrag nopan';
/** A caption of this length leaves no space for the age of the last run, which is then in the title of the card only. */
const LONG_CAPTION = 22;

/** A node of the graph: the name opens its details, the arrow its lines, the plus its content, and `+3` draws more neighbours. */
export function Card({ data: { card } }: NodeProps<Node<CardData>>) {
  const { selected, facts, onSelect, onToggle, onHover } = useGraph();
  const { id, title, caption, content, isOpen, neighbours, cut } = card;
  const isSelected = selected === id;
  const path = usePathState(id);
  const fact = facts.get(id);
  // The icon shows the kind, so a state can take the place of its word.
  const states = stateWordsOf(fact);
  const words = states.length > 0 && caption === card.kind.toLowerCase() ? states : [...states, caption];
  const line = words.filter(Boolean).join(' · ');
  return (
    <div
      className={`${classesOf(card, isSelected)} ${path && styles[path]}`}
      onPointerEnter={() => onHover(id)}
      onPointerLeave={() => onHover(undefined)}
    >
      <div className={styles.head}>
        <Anchors />
        <button
          type="button"
          className={`${styles.select} ${BUTTON}`}
          onClick={() => onSelect(id)}
          aria-pressed={isSelected}
          title={[card.name, fact?.text].filter(Boolean).join('\n')}
          data-card={id}
        >
          <Icon name={isData(card) ? 'dataset' : 'job'} />
          <span className={styles.words}>
            <Title text={title} />
            <small>
              {fact && <StateMark state={markOf(fact)} />}
              {line}
              {fact?.age && !card.change && line.length < LONG_CAPTION && <span> · {fact.age}</span>}
              <span className="visually-hidden">
                {[fact && `, ${fact.text}`, cut && ', cut here'].filter(Boolean).join('')}
              </span>
            </small>
          </span>
        </button>
        <Enter card={card} />
        {content && (
          <button
            type="button"
            className={`${styles.toggle} ${BUTTON}`}
            onClick={() => onToggle(id)}
            aria-expanded={isOpen}
            aria-label={`${isOpen ? 'Hide' : 'Show'} the ${content} of ${title}`}
            title={`${isOpen ? 'Hide' : 'Show'} the ${content}`}
          >
            <Icon name="chevron" size={14} />
          </button>
        )}
      </div>
      {isOpen && <Lines card={card} />}
      {neighbours && SIDES.map((side) => neighbours[side] > 0 && <Grow key={side} card={card} side={side} />)}
      {SIDES.map((side) => cut?.[side] && !neighbours?.[side] && <Cut key={side} side={side} />)}
    </div>
  );
}

/** A good run with unusual values needs a look. */
function markOf({ state, unusual }: NodeFacts) {
  return unusual && !STATE_WORDS[state] ? 'unusual' : state;
}

/** The button that draws the content of a card inside it. */
function Enter({ card: { id, kind, title, isBox, isLeaf, columns } }: { card: SceneCard }) {
  const { onEnter } = useGraph();
  const level = finerLevel(kind);
  if (!onEnter || !level || isBox || isLeaf || columns) return null;
  return (
    <button
      type="button"
      className={`${styles.toggle} ${BUTTON}`}
      onClick={() => onEnter(id, level)}
      aria-label={`Draw the ${level.toLowerCase()}s inside ${title}`}
      title={`Zoom in: draw the ${level.toLowerCase()}s inside`}
    >
      <Icon name="zoomIn" size={14} />
    </button>
  );
}

function Grow({ card, side }: { card: SceneCard; side: Side }) {
  const { onGrow } = useGraph();
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

/** The mark of a side whose links the limit of the depth cut off. */
function Cut({ side }: { side: Side }) {
  return (
    <span
      className={`${styles.grow} ${styles.cut} ${styles[side]}`}
      title="The drawing is cut here. The lineage may continue."
    >
      {side === 'before' ? '‹ cut' : 'cut ›'}
    </span>
  );
}

function Lines({ card: { content, lines, rest, isPending } }: { card: SceneCard }) {
  const { selected } = useGraph();
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
        const className = classes.filter(Boolean).join(' ');
        if (content !== 'operations') return <Column key={line.key} line={line} className={className} />;
        return (
          <div key={line.key} className={className} title={line.text}>
            <LineText line={line} />
          </div>
        );
      })}
      {rest > 0 && <p className={styles.none}>and {rest} more</p>}
      {lines.length === 0 && <p className={styles.none}>{isPending ? 'Loading …' : `No ${content} are known.`}</p>}
    </div>
  );
}

function Column({ line, className }: { line: Line; className: string }) {
  const { selected, onSelect, onHover } = useGraph();
  const path = usePathState(line.key);
  return (
    <div
      className={`${className} ${path === 'lit' ? styles.litLine : ''}`}
      title={line.text}
      onPointerEnter={() => onHover(line.key)}
    >
      <Anchors id={line.key} />
      <button
        type="button"
        className={BUTTON}
        aria-pressed={line.key === selected}
        onClick={() => onSelect(line.key)}
        data-card={line.key}
      >
        <LineText line={line} />
      </button>
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
export function Anchors({ id = '' }: { id?: string }) {
  return (
    <>
      <Handle type="target" position={Position.Left} id={anchorId('in', id)} isConnectable={false} />
      <Handle type="source" position={Position.Right} id={anchorId('out', id)} isConnectable={false} />
    </>
  );
}

function classesOf(card: SceneCard, isSelected: boolean): string {
  const { state = 'plain', cut } = card;
  return [
    styles.card,
    !isData(card) && styles.job,
    state !== 'plain' && styles[state],
    card.isCoarse && styles.coarse,
    card.change && styles[card.change],
    card.isFocus && styles.focus,
    card.isOpen && styles.open,
    cut?.before && styles.cutBefore,
    cut?.after && styles.cutAfter,
    isSelected && styles.selected,
  ]
    .filter(Boolean)
    .join(' ');
}
