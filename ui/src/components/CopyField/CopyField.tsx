import { useCopied } from '../../hooks/useCopied';
import { Icon } from '../Icon/Icon';
import styles from './CopyField.module.css';

interface CopyFieldProps {
  /** Name of the text after “Copy”. */
  label: string;
  text: string;
}

/** A text with a button that copies it. */
export function CopyField({ label, text }: CopyFieldProps) {
  const { copied, copy } = useCopied();
  return (
    <div className={styles.field}>
      <code className={styles.text}>{text}</code>
      <button type="button" className={styles.copy} onClick={() => copy(text)} aria-label={`Copy ${label}`}>
        <Icon name={copied ? 'check' : 'copy'} size={14} />
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
      </button>
    </div>
  );
}
