import { useEffect, useRef } from 'react';
import { baseName, jobTitle } from '../../graph/names';
import type { GraphNode, PathHop } from '../../graph/types';
import { DatasetDetails } from '../DatasetDetails/DatasetDetails';
import { Icon } from '../Icon/Icon';
import { JobDetails } from '../JobDetails/JobDetails';
import styles from './DetailPanel.module.css';

interface DetailPanelProps {
  /** The dataset or job that it tells about. */
  node: GraphNode;
  /** The run of the trace, for a job on its path. */
  hop?: PathHop | undefined;
  /** Ids of the columns that the trace goes through. */
  tracedColumns: ReadonlySet<string>;
  onClose: () => void;
}

/** What is known of one node of the graph. It takes the focus when it opens, and Escape closes it. */
export function DetailPanel({ node, hop, tracedColumns, onClose }: DetailPanelProps) {
  const panel = useRef<HTMLElement>(null);
  const title = node.kind === 'DATASET' ? baseName(node.name) : jobTitle(node.name);
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={styles.panel}
      aria-label={`Details of ${title}`}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <header className={styles.head}>
        <div>
          <h2>{title}</h2>
          <p>{node.name}</p>
        </div>
        <button type="button" className={styles.close} onClick={onClose} aria-label="Close the details">
          <Icon name="close" size={14} />
        </button>
      </header>
      {node.kind === 'DATASET' ? (
        <DatasetDetails dataset={node} tracedColumns={tracedColumns} />
      ) : (
        <JobDetails job={node} hop={hop} />
      )}
    </aside>
  );
}
