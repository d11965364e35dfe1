import type { Node, NodeProps } from '@xyflow/react';
import { columnId } from '../../graph/ids';
import type { Hidden, Side } from '../../graph/neighbourhood';
import type { SceneNode } from '../../graph/scene';
import { Anchors, CardLines } from '../CardLines/CardLines';
import { Icon } from '../Icon/Icon';
import styles from './FlowCard.module.css';

/** What a card is given to draw itself. */
export interface CardData extends Record<string, unknown> {
  /** The node, its place and what it shows. */
  item: SceneNode;
  title: string;
  /** Stands under the title: how many records of it a trace holds, or what kind of node it is. */
  caption: string;
  /** Whether the page is about it. */
  focus: boolean;
  /** Whether its details are shown. */
  selected: boolean;
  /** Neighbours that are not drawn. */
  hidden: Hidden | undefined;
  onSelect: () => void;
  onToggle: () => void;
  /** Absent where there is no room for more. */
  onGrow: ((side: Side) => void) | undefined;
}

/** A dataset or a job in the graph: its name leads to its details, its arrow opens it to its columns or operations, `+3` draws more beside it. */
export function FlowCard({ data }: NodeProps<Node<CardData>>) {
  const { item, title, caption, selected, hidden, onSelect, onToggle, onGrow } = data;
  const isDataset = item.node.kind === 'DATASET';
  const inside = isDataset ? 'columns' : 'operations';
  return (
    <div className={classesOf(data)}>
      <div className={styles.head}>
        <Anchors />
        <button
          type="button"
          className={`${styles.select} nodrag nopan`}
          onClick={onSelect}
          aria-pressed={selected}
          title={item.node.name}
        >
          <Icon name={isDataset ? 'dataset' : 'job'} />
          <span className={styles.words}>
            <b>{title}</b>
            <small>{caption}</small>
          </span>
        </button>
        <button
          type="button"
          className={`${styles.toggle} nodrag nopan`}
          onClick={onToggle}
          aria-expanded={item.open}
          aria-label={`${item.open ? 'Hide' : 'Show'} the ${inside} of ${title}`}
        >
          <Icon name="chevron" size={14} />
        </button>
      </div>
      {item.open && (
        <CardLines
          lines={item.lines}
          more={item.more}
          anchorOf={isDataset ? (line) => columnId(item.id, line.key) : undefined}
          none={item.isPending ? 'Loading …' : `No ${inside} are known.`}
        />
      )}
      {hidden &&
        SIDES.map(
          (side) =>
            hidden[side] > 0 && <Grow key={side} side={side} count={hidden[side]} title={title} onGrow={onGrow} />,
        )}
    </div>
  );
}

const SIDES = ['before', 'after'] as const;

interface GrowProps {
  side: Side;
  count: number;
  title: string;
  onGrow: ((side: Side) => void) | undefined;
}

function Grow({ side, count, title, onGrow }: GrowProps) {
  const more = `${count.toLocaleString('en')} more ${side} ${title}`;
  return (
    <button
      type="button"
      className={`${styles.grow} ${styles[side]} nodrag nopan`}
      disabled={!onGrow}
      onClick={() => onGrow?.(side)}
      aria-label={`Draw ${more}`}
      title={
        onGrow ? `Draw ${more}` : `${more}: this drawing holds no more boxes. Open the dataset to go on from there.`
      }
    >
      {side === 'before' ? `‹ +${count.toLocaleString('en')}` : `+${count.toLocaleString('en')} ›`}
    </button>
  );
}

function classesOf({ item, focus, selected }: { item: SceneNode; focus: boolean; selected: boolean }): string {
  return [
    styles.card,
    item.node.kind === 'JOB' && styles.job,
    item.state !== 'plain' && styles[item.state],
    item.coarse && styles.coarse,
    focus && styles.focus,
    item.open && styles.open,
    selected && styles.selected,
  ]
    .filter(Boolean)
    .join(' ');
}
