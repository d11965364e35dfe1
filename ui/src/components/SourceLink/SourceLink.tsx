import type { SourceCode } from '../../facts/execution';
import styles from '../../styles/sections.module.css';

/** The place of a job's source code, with its commit. */
export function SourceLink({ source }: { source: SourceCode | undefined }) {
  if (!source) return null;
  const { url, path, version } = source;
  return (
    <p className={styles.facts}>
      <span>Source</span>
      {url ? (
        // The repository is another system, so it does not learn the address of this page.
        <a href={url} target="_blank" rel="noopener noreferrer">
          {path ?? url}
        </a>
      ) : (
        <code>{path}</code>
      )}
      {version && (
        <span>
          at <code>{version}</code>
        </span>
      )}
    </p>
  );
}
