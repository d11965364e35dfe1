import { useEffect, useState } from 'react';
import { instantText } from '../../facts/time';
import { useSession } from '../../hooks/useSession';
import styles from './ReportHead.module.css';

interface ReportHeadProps {
  /** The parts of the question: names and values. */
  facts: readonly (readonly [name: string, value: string | undefined])[];
}

/** On paper only: the question, its address, and the time and user of the print. */
export function ReportHead({ facts }: ReportHeadProps) {
  const [printedAt, setPrintedAt] = useState('');
  useEffect(() => {
    const onPrint = () => setPrintedAt(instantText(new Date().toISOString()));
    onPrint();
    addEventListener('beforeprint', onPrint);
    return () => removeEventListener('beforeprint', onPrint);
  }, []);
  const { name } = useSession();
  const lines = [...facts, ['Address', document.location.href], ['Printed', printedAt], ['Printed by', name]] as const;
  return (
    <dl className={styles.report}>
      {lines.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
