import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Blocks } from './Blocks';
import { Consumers } from './Consumers';
import { Diff } from './Diff';

/** The blocks of a dataset and the cursors of its consumers. */
export function VersionsPage({ dataset }: DatasetPageProps) {
  return (
    <div className={styles.tab}>
      <Blocks dataset={dataset} />
      <Consumers dataset={dataset} />
      <Diff dataset={dataset} />
    </div>
  );
}
