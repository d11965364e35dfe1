import type { Node, NodeProps } from '@xyflow/react';
import type { ViewBox } from '../../graph/viewScene';
import { Anchors, CardLines } from '../CardLines/CardLines';
import { Icon } from '../Icon/Icon';
import styles from './ViewCard.module.css';

/** What a card is given to draw itself. */
export interface ViewCardData extends Record<string, unknown> {
  box: ViewBox;
  /** Id of the node, or of the column, whose details are shown. */
  selected: string | undefined;
  onSelect: (id: string) => void;
}

/** A node of a view, at any level; of columns, the dataset that holds them. */
export function ViewCard({ data: { box, selected, onSelect } }: NodeProps<Node<ViewCardData>>) {
  const isSelected = selected === box.id;
  const classes = [
    styles.card,
    !box.isData && styles.actor,
    box.focus && styles.focus,
    box.lines.length > 0 && styles.open,
    isSelected && styles.selected,
  ];
  return (
    <div className={classes.filter(Boolean).join(' ')}>
      <div className={styles.head}>
        <Anchors />
        <button
          type="button"
          className={`${styles.select} nodrag nopan`}
          onClick={() => onSelect(box.id)}
          aria-pressed={isSelected}
          title={box.name}
        >
          <Icon name={box.isData ? 'dataset' : 'job'} />
          <span className={styles.words}>
            <b>{box.title}</b>
            <small>{box.caption}</small>
          </span>
        </button>
      </div>
      {box.lines.length > 0 && (
        <CardLines
          lines={box.lines}
          more={box.more}
          anchorOf={(line) => line.key}
          none=""
          selected={selected}
          onSelect={(line) => onSelect(line.key)}
        />
      )}
    </div>
  );
}
