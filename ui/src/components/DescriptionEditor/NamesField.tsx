import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { GlossaryDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { faultOf, MOST_NAME } from '../../facts/statements';
import { Icon } from '../Icon/Icon';
import styles from './DescriptionEditor.module.css';

interface NamesFieldProps {
  label: string;
  /** The word for one of the names. */
  one: string;
  names: readonly string[];
  onChange: (names: string[]) => void;
  /** Whether to suggest the terms of the glossary. */
  suggest?: true;
}

/** A list of names with a field for another one. Enter adds the name, and Backspace in the empty field removes the last one. */
export function NamesField({ label, one, names, onChange, suggest }: NamesFieldProps) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const field = useId();
  const add = () => {
    const name = text.trim();
    if (!name) return;
    const found = faultOf(name);
    setFault(found);
    if (found) return;
    if (!names.includes(name)) onChange([...names, name]);
    setText('');
  };
  const remove = (name: string) => {
    onChange(names.filter((each) => each !== name));
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = names.at(-1);
    if (event.key === 'Backspace' && text === '' && last !== undefined) remove(last);
    if (event.key !== 'Enter' || text.trim() === '') return;
    event.preventDefault();
    add();
  };
  return (
    <>
      <label htmlFor={field} className={styles.label}>
        {label}
      </label>
      <div className={styles.names}>
        {names.map((name) => (
          <span key={name} className={styles.name}>
            <bdi>{name}</bdi>
            <button type="button" aria-label={`Remove the ${one} ${name}`} onClick={() => remove(name)}>
              <Icon name="close" size={11} />
            </button>
          </span>
        ))}
        <input
          id={field}
          ref={input}
          className={styles.field}
          value={text}
          maxLength={MOST_NAME}
          placeholder={`Add one ${one}`}
          spellCheck={false}
          autoComplete="off"
          list={suggest && `${field}-known`}
          aria-invalid={fault !== undefined}
          aria-describedby={fault && `${field}-fault`}
          onChange={({ target }) => {
            setText(target.value);
            setFault(undefined);
          }}
          onKeyDown={onKeyDown}
          onBlur={add}
        />
        {suggest && <Known id={`${field}-known`} />}
        {fault && (
          <p id={`${field}-fault`} role="alert" className={styles.fault}>
            {fault}
          </p>
        )}
      </div>
    </>
  );
}

function Known({ id }: { id: string }) {
  const { data } = useQuery(queryOf(GlossaryDocument, {}));
  return (
    <datalist id={id}>
      {data?.glossary.terms.map(({ name }) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
