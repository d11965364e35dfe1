import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { hrefOf } from '../../hooks/useLocation';
import { useRows } from '../../hooks/useRows';
import type { Location } from '../../location/location';
import { traceCommand } from '../../trace/command';
import { predicateFor } from '../../trace/predicate';
import { listOf } from '../../trace/values';
import { CopyField } from '../CopyField/CopyField';
import { Icon } from '../Icon/Icon';
import styles from './SharePanel.module.css';

interface SharePanelProps {
  /** What the page shows. */
  location: Location;
  /** The dataset's path. */
  dataset: string;
  /** Values of the traced record. */
  values: Record<string, unknown>;
  /** Path of the target dataset. */
  to: string | undefined;
}

/** The same question elsewhere: as a command and as a link. */
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
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape works from anywhere inside; nothing else is operated here
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

function Command({ location, dataset, values, to }: SharePanelProps) {
  const { first, total } = useRows(location.dataset ?? '', undefined, 0, 0);
  const page = first.data;
  // Only where all rows are at hand can a short predicate be known to select one row.
  const whole = page !== undefined && total === page.rows.length;
  const others = whole
    ? page.rows
        .filter((row) => row.file !== location.file || row.row !== location.row)
        .map((row) => Object.fromEntries(page.columns.map(({ name }, index) => [name, listOf(row.values)[index]])))
    : [];
  const { column, semantics, direction } = location;
  return (
    <div>
      <h2>On the command line</h2>
      <CopyField
        label="the command"
        text={traceCommand({ dataset, where: predicateFor(values, others), column, semantics, direction, to })}
      />
    </div>
  );
}
