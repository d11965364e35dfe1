import type { DescribedFragment } from '../../api/generated/graphql';
import { ASPECTS, isHttp } from '../../facts/authors';
import { Instant } from '../Instant/Instant';
import { Table } from '../Table/Table';
import styles from './Authors.module.css';

type Statement = DescribedFragment['descriptions']['statements'][number];

/** Who stated what of a node, and when: people first, then the programs of producers. */
export function Authors({ statements }: { statements: readonly Statement[] }) {
  if (statements.length === 0) return null;
  return (
    <details className={styles.authors}>
      <summary>Who stated this</summary>
      <Table
        label="Statements of people and producers"
        titles={['Statement', 'What', 'By', 'When', 'State']}
        rows={statements.map((statement) => {
          const { aspect, value, by, at, produced } = statement;
          return {
            key: `${aspect} ${value} ${produced}`,
            cells: [
              <bdi key="value">{value}</bdi>,
              ASPECTS[aspect] ?? aspect,
              by === null ? produced ? 'a producer' : 'not known' : <Author key="by" by={by} />,
              at === null ? 'with its run' : <Instant key="at" at={at} />,
              stateOf(statement),
            ],
          };
        })}
      />
    </details>
  );
}

/** A person or a program. An address of a program is text, because anybody can state one. */
function Author({ by }: { by: string }) {
  return isHttp(by) ? <code>{by}</code> : <bdi>{by}</bdi>;
}

function stateOf({ removed, overruled }: Statement): string {
  if (removed) return 'removed';
  return overruled ? 'replaced by a person' : 'counts';
}
