import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { CheckContractDocument, type ClauseOutcome } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { NodeLink } from '../NodeLink/NodeLink';
import { ErrorNote, Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

const TONE: Record<ClauseOutcome, Tone> = { KEPT: 'good', BROKEN: 'bad', UNKNOWN: 'plain' };
const MOST_BYTES = 256 * 1024;

/** Compares a data contract with what runs stated. The file stays in the browser's window and is not stored. */
export function ContractCheck() {
  const [contract, setContract] = useState<string>();
  const [fault, setFault] = useState('');
  const { data, error } = useQuery({
    ...queryOf(CheckContractDocument, { contract }),
    enabled: contract !== undefined,
    retry: false,
  });
  const read = async (file: File | undefined) => {
    setContract(undefined);
    setFault('');
    if (!file) return;
    if (file.size > MOST_BYTES) setFault(`${file.name} is larger than 256 kB.`);
    else setContract(await file.text());
  };
  const report = data?.checkContract;
  return (
    <section className={styles.section} aria-labelledby="contracts">
      <h2 id="contracts">Data contracts</h2>
      <p className={styles.lead}>
        Compare datasets with a contract of the Open Data Contract Standard. No row is read, and nothing is stored.
      </p>
      <form className={styles.form}>
        <label>
          A contract in YAML or JSON
          <input type="file" accept=".yaml,.yml,.json" onChange={({ target }) => read(target.files?.[0])} />
        </label>
      </form>
      {fault && <Note tone="bad">{fault}</Note>}
      {error && <ErrorNote error={error} />}
      {contract !== undefined && !report && !error && <Skeleton label="Checking the contract" rows={3} />}
      {report && (
        <>
          <p className={styles.lead} role="status">
            {report.name} {report.version} ({report.status}): {count(report.clauses, 'KEPT')} kept,{' '}
            {count(report.clauses, 'BROKEN')} broken, {count(report.clauses, 'UNKNOWN')} unknown.
            {report.ignored.length > 0 && ` Not checked: ${report.ignored.join(', ')}.`}
          </p>
          <Table
            label="Clauses of the contract"
            titles={['Clause', 'Outcome', 'Found', 'Dataset']}
            rows={report.clauses.map(({ table, column, demand, outcome, detail, dataset }) => ({
              key: `${table} ${column} ${demand}`,
              cells: [
                `${column ?? table}: ${demand}`,
                <Badge key="outcome" tone={TONE[outcome]}>
                  {outcome.toLowerCase()}
                </Badge>,
                detail,
                dataset ? <NodeLink key="dataset" id={dataset} /> : table,
              ],
            }))}
          />
        </>
      )}
    </section>
  );
}

function count(clauses: readonly { outcome: ClauseOutcome }[], outcome: ClauseOutcome): string {
  return clauses.filter((clause) => clause.outcome === outcome).length.toLocaleString('en');
}
