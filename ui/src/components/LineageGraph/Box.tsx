import type { Node, NodeProps } from '@xyflow/react';
import { isData } from '../../graph/types';
import { Icon } from '../Icon/Icon';
import styles from './Box.module.css';
import { Anchors, type CardData } from './Card';
import { useGraph } from './graphContext';
import { Title } from './Title';

/** The head holds buttons, but the pointer moves the drawing everywhere else in the box. */
const CLICKABLE = { pointerEvents: 'all' } as const;

/** An open container: its content is drawn inside the box. The name opens its details, the minus draws it as a card again. */
export function Box({ data: { card } }: NodeProps<Node<CardData>>) {
  const { selected, onSelect, onLeave } = useGraph();
  const { id, title, caption, name } = card;
  return (
    <div className={`${styles.box} ${isData(card) ? '' : styles.job} ${selected === id ? styles.selected : ''}`}>
      <div className={styles.head} style={CLICKABLE}>
        <Anchors />
        <button
          type="button"
          className={`${styles.name} nodrag nopan`}
          onClick={() => onSelect(id)}
          aria-pressed={selected === id}
          title={name}
          data-card={id}
        >
          <Icon name={isData(card) ? 'dataset' : 'job'} size={14} />
          <Title text={title} />
          <small>{caption}</small>
        </button>
        {onLeave && (
          <button
            type="button"
            className={`${styles.leave} nodrag nopan`}
            onClick={() => onLeave(id)}
            aria-label={`Draw ${title} as one card`}
            title="Zoom out: draw it as one card"
          >
            <Icon name="zoomOut" size={14} />
          </button>
        )}
      </div>
    </div>
  );
}
