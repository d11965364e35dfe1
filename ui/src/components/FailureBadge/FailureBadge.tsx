import { type KeyboardEvent, useId, useRef, useState, useSyncExternalStore } from 'react';
import { jobTitle } from '../../graph/names';
import { clearFailures, currentFailures, followFailures } from '../../live/failures';
import { HOME } from '../../location/location';
import { Icon } from '../Icon/Icon';
import { Link } from '../Link/Link';
import styles from './FailureBadge.module.css';

const SHOWN = 20;

/** The number of runs that failed since the page was opened, and links to them. */
export function FailureBadge() {
  const failures = useSyncExternalStore(followFailures, currentFailures);
  const [isOpen, setOpen] = useState(false);
  const panelId = useId();
  const button = useRef<HTMLButtonElement>(null);
  const words = `${failures.length.toLocaleString('en')} new ${failures.length === 1 ? 'failure' : 'failures'}`;
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel from each element inside it
    <div className={styles.failures} onKeyDown={(event: KeyboardEvent) => event.key === 'Escape' && close()}>
      <span role="status" className="visually-hidden">
        {failures.length > 0 ? `${words}. The last one is a run of ${jobTitle(failures[0]?.job ?? '')}.` : ''}
      </span>
      {failures.length > 0 && (
        <button
          ref={button}
          type="button"
          className={styles.badge}
          aria-expanded={isOpen}
          aria-controls={panelId}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="warn" size={13} />
          {words}
        </button>
      )}
      {isOpen && failures.length > 0 && (
        <section id={panelId} className={styles.panel} aria-label="New failures">
          <ul>
            {failures.slice(0, SHOWN).map(({ run, job }) => (
              <li key={run}>
                <Link to={{ ...HOME, page: 'run', item: run }} title={job}>
                  A run of {jobTitle(job)}
                </Link>
              </li>
            ))}
            {failures.length > SHOWN && <li>and {(failures.length - SHOWN).toLocaleString('en')} more</li>}
          </ul>
          <button
            type="button"
            onClick={() => {
              clearFailures();
              setOpen(false);
            }}
          >
            Mark as seen
          </button>
        </section>
      )}
    </div>
  );
}
