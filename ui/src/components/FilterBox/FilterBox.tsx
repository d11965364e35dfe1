import { type FormEvent, useId, useRef, useState } from 'react';
import { RequestError } from '../../api/request';
import styles from './FilterBox.module.css';

interface FilterBoxProps {
  /** The current predicate. */
  value: string | undefined;
  onChange: (predicate: string | undefined) => void;
  /** The error in the current predicate. */
  error: Error | null;
  example: string;
}

/** A field for a DuckDB predicate over the rows. Enter applies it, and an error is shown below. */
export function FilterBox({ value, onChange, error, example }: FilterBoxProps) {
  const [text, setText] = useState(value ?? '');
  const [shown, setShown] = useState(value);
  // After Back, the field contains the predicate of the address again.
  if (shown !== value) {
    setShown(value);
    setText(value ?? '');
  }
  const errorId = useId();
  const input = useRef<HTMLInputElement>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(text.trim() || undefined);
  };
  const clear = () => {
    setText('');
    // The button disappears, so the field takes the focus.
    input.current?.focus();
    onChange(undefined);
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <div className={`${styles.field} ${error ? styles.wrong : ''}`}>
        <span>where</span>
        <input
          ref={input}
          type="text"
          spellCheck={false}
          autoComplete="off"
          aria-label="Filter the rows by a DuckDB predicate"
          aria-invalid={error !== null}
          aria-describedby={error ? errorId : undefined}
          placeholder={example}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {value && (
          <button type="button" className={styles.clear} onClick={clear}>
            Clear
          </button>
        )}
        <button type="submit">Filter</button>
      </div>
      {error && (
        <p id={errorId} role="alert" className={styles.error}>
          {error.message} <span>{error instanceof RequestError && error.detail.hint}</span>
        </p>
      )}
    </form>
  );
}
