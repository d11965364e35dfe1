import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { hrefOf } from '../../hooks/useLocation';
import { rowValues, useRows } from '../../hooks/useRows';
import type { Location, TracedRecord } from '../../location/location';
import { traceCommand } from '../../trace/command';
import { predicateFor } from '../../trace/predicate';
import { CopyField } from '../CopyField/CopyField';
import { Icon } from '../Icon/Icon';
import styles from './SharePanel.module.css';

interface SharePanelProps {
  record: TracedRecord;
  location: Location;
  /** Path of the dataset. */
  dataset: string;
  /** Values of the traced record. */
  values: Record<string, unknown>;
  /** Path of the target dataset. */
  to: string | undefined;
}

/** The trace as a command and as a link. */
export function SharePanel(props: SharePanelProps) {
  const [open, setOpen] = useState(false);
  const panelId = useId();
  const button = useRef<HTMLButtonElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel from each element inside it
    <div className={styles.share} onKeyDown={onKeyDown}>
      <button
        ref={button}
        type="button"
        className={styles.button}
        aria-expanded={open}
        aria-controls={panelId}
        onClick={() => setOpen(!open)}
      >
        <Icon name="share" size={14} />
        Command and link
      </button>
      {open && (
        <section id={panelId} className={styles.panel} aria-label="Command and link">
          <Command {...props} />
          <div>
            <h2>As a link to this view</h2>
            <CopyField label="the link" text={new URL(hrefOf(props.location), document.baseURI).href} />
          </div>
        </section>
      )}
    </div>
  );
}

function Command({ location, record, dataset, values, to }: SharePanelProps) {
  const { first, total } = useRows({ dataset: record.dataset }, 0, 0);
  const page = first.data;
  // A predicate is known to select one row only if all rows are loaded.
  const whole = page !== undefined && total === page.rows.length;
  const others = whole
    ? page.rows.filter((row) => row.file !== record.file || row.row !== record.row).map((row) => rowValues(page, row))
    : [];
  const { column, semantics, direction } = location;
  const where = whole ? predicateFor(values, others) : undefined;
  return (
    <div>
      <h2>On the command line</h2>
      <CopyField
        label="the command"
        text={traceCommand({ dataset, where, file: record.file, row: record.row, column, semantics, direction, to })}
      />
    </div>
  );
}
