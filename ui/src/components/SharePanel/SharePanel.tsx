import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { hrefOf } from '../../hooks/useLocation';
import type { Location, TracedRecord } from '../../location/location';
import { traceCommand } from '../../trace/command';
import { CopyField } from '../CopyField/CopyField';
import { Icon } from '../Icon/Icon';
import styles from './SharePanel.module.css';

interface SharePanelProps {
  record: TracedRecord;
  location: Location;
  /** Path of the dataset. */
  dataset: string;
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
            <p className={styles.note}>
              {props.location.version
                ? 'Both name the version that contains the record. They find it after the next write, too.'
                : 'No captured run wrote this record, so the link finds it only as long as its file stays the same.'}
            </p>
          </div>
        </section>
      )}
    </div>
  );
}

function Command({ location, record, dataset, to }: SharePanelProps) {
  const { column, version, semantics, direction } = location;
  return (
    <div>
      <h2>On the command line</h2>
      <CopyField
        label="the command"
        text={traceCommand({ dataset, file: record.file, row: record.row, version, column, semantics, direction, to })}
      />
    </div>
  );
}
