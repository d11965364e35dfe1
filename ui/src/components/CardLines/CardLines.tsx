import { Handle, Position } from '@xyflow/react';
import type { Line } from '../../graph/scene';
import { handleId } from '../FlowCanvas/FlowCanvas';
import styles from './CardLines.module.css';

interface CardLinesProps {
  lines: readonly Line[];
  /** Lines that had no room. */
  more: number;
  /** The id of the column that a line is, where links end at it. */
  anchorOf?: ((line: Line) => string) | undefined;
  /** What stands where there are none. */
  none: string;
  /** Called with the line that was chosen; absent where lines only tell. */
  onSelect?: ((line: Line) => void) | undefined;
  /** The key of the chosen line. */
  selected?: string | undefined;
}

/** What stands in an opened card: columns, keys apart from values, or operations. */
export function CardLines({ lines, more, anchorOf, none, onSelect, selected }: CardLinesProps) {
  const keys = lines.filter((line) => line.isKey).length;
  return (
    <div className={styles.lines}>
      {lines.map((line, index) => {
        const classes = [
          styles.line,
          line.traced && styles.traced,
          line.isKey && styles.key,
          keys > 0 && index === keys && styles.afterKeys,
          line.key === selected && styles.selected,
        ];
        const text = (
          <>
            <span>{line.text}</span>
            {line.isKey && <em title="Rows are joined or grouped by it">key</em>}
            {line.note && <small>{line.note}</small>}
          </>
        );
        return (
          <div key={line.key} className={classes.filter(Boolean).join(' ')} title={line.text}>
            {anchorOf && <Anchors id={anchorOf(line)} />}
            {onSelect ? (
              <button
                type="button"
                className="nodrag nopan"
                aria-pressed={line.key === selected}
                onClick={() => onSelect(line)}
              >
                {text}
              </button>
            ) : (
              text
            )}
          </div>
        );
      })}
      {more > 0 && <p className={styles.none}>and {more} more</p>}
      {lines.length === 0 && <p className={styles.none}>{none}</p>}
    </div>
  );
}

/** Where links begin and end, at a line or, without an id, at the head of a card. */
export function Anchors({ id = '' }: { id?: string }) {
  return (
    <>
      <Handle type="target" position={Position.Left} id={handleId('in', id)} isConnectable={false} />
      <Handle type="source" position={Position.Right} id={handleId('out', id)} isConnectable={false} />
    </>
  );
}
