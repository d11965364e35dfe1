import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { Icon } from '../Icon/Icon';
import { ErrorNote } from '../Note/Note';
import share from '../SharePanel/SharePanel.module.css';
import styles from './ExportMenu.module.css';

export interface ExportKind {
  label: string;
  /** What the file contains. */
  hint: string;
  save: () => void | Promise<void>;
}

/** A button with the files in which a view can be saved. */
export function ExportMenu({ kinds }: { kinds: readonly ExportKind[] }) {
  const [isOpen, setOpen] = useState(false);
  const [failure, setFailure] = useState<Error>();
  const panelId = useId();
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel from each element inside it
    <div className={share.share} onKeyDown={(event: KeyboardEvent) => event.key === 'Escape' && close()}>
      <button
        ref={button}
        type="button"
        className={share.button}
        aria-expanded={isOpen}
        aria-controls={panelId}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="save" size={14} />
        Export
      </button>
      {isOpen && (
        <section id={panelId} className={`${share.panel} ${styles.panel}`} aria-label="Export">
          {kinds.map(({ label, hint, save }) => (
            <button
              key={label}
              type="button"
              className={styles.kind}
              onClick={() => {
                close();
                setFailure(undefined);
                Promise.resolve(save()).catch(setFailure);
              }}
            >
              <b>{label}</b>
              <small>{hint}</small>
            </button>
          ))}
        </section>
      )}
      {failure && (
        <div className={`${share.panel} ${styles.failure}`}>
          <ErrorNote error={failure} />
          <button type="button" className={styles.kind} onClick={() => setFailure(undefined)}>
            Close
          </button>
        </div>
      )}
    </div>
  );
}
