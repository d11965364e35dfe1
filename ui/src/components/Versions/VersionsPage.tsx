import { useSession } from '../../hooks/useSession';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Blocks } from './Blocks';
import { Collection } from './Collection';
import { Compaction } from './Compaction';
import { Consumers } from './Consumers';
import { Diff } from './Diff';

/** The blocks of a dataset, the cursors of its consumers, and the changes of blocks that the session may make. */
export function VersionsPage({ dataset }: DatasetPageProps) {
  const { scopes } = useSession();
  return (
    <div className={styles.tab}>
      <Blocks dataset={dataset} />
      <Consumers dataset={dataset} />
      <Diff dataset={dataset} />
      {scopes.includes('replay') && (
        <>
          <Collection dataset={dataset} />
          <Compaction dataset={dataset} />
        </>
      )}
    </div>
  );
}
