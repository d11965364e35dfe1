import type { ReactNode } from 'react';
import { RequestError } from '../../api/request';
import { HOME } from '../../location/location';
import { Icon } from '../Icon/Icon';
import { Link } from '../Link/Link';
import styles from './Note.module.css';

interface NoteProps {
  /** `bad` is announced at once. */
  tone?: 'plain' | 'warn' | 'bad';
  title?: string;
  children?: ReactNode;
  /** Offered where trying again may help. */
  onRetry?: (() => void) | undefined;
}

/** Something that must be known, in a box. */
export function Note({ tone = 'plain', title, children, onRetry }: NoteProps) {
  return (
    <div className={`${styles.note} ${tone === 'plain' ? '' : styles[tone]}`} role={tone === 'bad' ? 'alert' : 'note'}>
      {tone !== 'plain' && <Icon name="warn" />}
      <div>
        {title && <p className={styles.title}>{title}</p>}
        {children}
      </div>
      {onRetry && (
        <button type="button" className={styles.retry} onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

interface ErrorNoteProps {
  error: Error;
  onRetry?: (() => void) | undefined;
}

/** An error as the service explains it: what was wrong, and what to do. Trying again is offered unless it is known not to help. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  const detail = error instanceof RequestError ? error.detail : {};
  const { code, hint, transient } = detail;
  return (
    <Note tone="bad" title={error.message} onRetry={transient === false ? undefined : onRetry}>
      {hint && <p>{hint}</p>}
      {code === 'NotFoundError' && (
        <p>
          <Link to={HOME}>All datasets</Link>
        </p>
      )}
    </Note>
  );
}
