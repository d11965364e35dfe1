import type { ReactNode } from 'react';
import { RequestError } from '../../api/request';
import { asSentence } from '../../facts/text';
import { HOME } from '../../location/location';
import { Icon } from '../Icon/Icon';
import { Link } from '../Link/Link';
import styles from './Note.module.css';

interface NoteProps {
  /** Screen readers read `bad` immediately. */
  tone?: 'plain' | 'warn' | 'bad';
  title?: string;
  children?: ReactNode;
  onRetry?: (() => void) | undefined;
}

/** A box with a message. */
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

/** An error of the service with its hint. The button for another attempt is missing if the error is permanent. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  const detail = error instanceof RequestError ? error.detail : {};
  const { code, hint, transient } = detail;
  return (
    <Note tone="bad" title={asSentence(error.message)} onRetry={transient === false ? undefined : onRetry}>
      {hint && <p>{asSentence(hint)}</p>}
      {code === 'NotFoundError' && (
        <p>
          <Link to={HOME}>All datasets</Link>
        </p>
      )}
    </Note>
  );
}
