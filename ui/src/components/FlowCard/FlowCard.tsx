import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { columnId } from '../../graph/ids';
import type { Line, SceneNode } from '../../graph/scene';
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
  onSelect: () => void;
  onToggle: () => void;
}

const HEAD_MIDDLE = { top: 24 };

/** A dataset or a job in the graph: its name leads to its details, its arrow opens it to its columns or operations. */
export function FlowCard({ data }: NodeProps<Node<CardData>>) {
  const { item, title, caption, selected, onSelect, onToggle } = data;
  const isDataset = item.node.kind === 'DATASET';
  const inside = isDataset ? 'columns' : 'operations';
  return (
    <div className={classesOf(data)}>
      <div className={styles.head}>
        <Ends id="" />
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
        <div className={styles.lines}>
          {item.lines.map((line) => (
            <CardLine key={line.key} line={line} column={isDataset ? columnId(item.id, line.key) : undefined} />
          ))}
          {item.more > 0 && <p className={styles.none}>and {item.more} more</p>}
          {item.lines.length === 0 && <p className={styles.none}>No {inside} are known.</p>}
        </div>
      )}
    </div>
  );
}

function CardLine({ line, column }: { line: Line; column: string | undefined }) {
  return (
    <div className={`${styles.line} ${line.traced ? styles.tracedLine : ''}`} title={line.text}>
      {column && <Ends id={` ${column}`} />}
      <span>{line.text}</span>
      {line.note && <small>{line.note}</small>}
    </div>
  );
}

/** Where links begin and end. */
function Ends({ id }: { id: string }) {
  const place = id === '' ? HEAD_MIDDLE : undefined;
  return (
    <>
      <Handle
        type="target"
        position={Position.Left}
        id={`in${id}`}
        isConnectable={false}
        {...(place && { style: place })}
      />
      <Handle
        type="source"
        position={Position.Right}
        id={`out${id}`}
        isConnectable={false}
        {...(place && { style: place })}
      />
    </>
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
