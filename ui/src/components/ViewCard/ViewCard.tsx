import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import type { ViewBox } from '../../graph/viewScene';
import { Icon } from '../Icon/Icon';
import styles from './ViewCard.module.css';

/** What a card is given to draw itself. */
export interface ViewCardData extends Record<string, unknown> {
  box: ViewBox;
  /** Whether its details are shown. */
  selected: boolean;
  onSelect: () => void;
}

/** A node of a view, at any level. */
export function ViewCard({ data: { box, selected, onSelect } }: NodeProps<Node<ViewCardData>>) {
  const classes = [styles.card, !box.isData && styles.actor, box.focus && styles.focus, selected && styles.selected];
  return (
    <div className={classes.filter(Boolean).join(' ')}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <button
        type="button"
        className={`${styles.select} nodrag nopan`}
        onClick={onSelect}
        aria-pressed={selected}
        title={box.name}
      >
        <Icon name={box.isData ? 'dataset' : 'job'} />
        <span className={styles.words}>
          <b>{box.title}</b>
          <small>{box.caption}</small>
        </span>
      </button>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}
