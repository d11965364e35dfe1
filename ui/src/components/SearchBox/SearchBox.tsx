import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import { SearchDocument } from '../../api/generated/graphql';
import { answerOf } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { baseName } from '../../graph/names';
import { useFocusKey } from '../../hooks/useFocusKey';
import { navigate } from '../../hooks/useLocation';
import { HOME } from '../../location/location';
import { Icon } from '../Icon/Icon';
import styles from './SearchBox.module.css';

const FIRST = 200;

/** A search for datasets. The arrow keys select a result, Enter opens it, and the key `/` moves the focus here. */
export function SearchBox() {
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const name = useDeferredValue(text.trim());
  const { data } = useQuery({
    ...answerOf(SearchDocument, { text: name, kinds: ['DATASET'], first: FIRST, after: null }),
    enabled: open,
  });
  const results = data?.answer.search.nodes ?? [];
  const isLoading = data?.question.text !== text.trim();
  const [isEntered, setEntered] = useState(false);
  useFocusKey('/', input);

  const choose = (id: string | undefined) => {
    if (id === undefined) return;
    navigate({ ...HOME, dataset: id });
    setText('');
    setOpen(false);
    input.current?.blur();
  };
  // Enter opens a result of the text in the field, not of the text before.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the results are there
  useEffect(() => {
    if (!isEntered || isLoading) return;
    setEntered(false);
    choose(results[active]?.id);
  }, [isEntered, isLoading]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setActive((index) => Math.max(0, Math.min(results.length - 1, index + step)));
    }
    if (event.key === 'Enter') setEntered(true);
    // The field keeps the focus, so the keyboard stays in its place.
    if (event.key === 'Escape') setOpen(false);
  };

  return (
    <div className={styles.box}>
      <div className={styles.field}>
        <Icon name="search" size={14} />
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label="Find a dataset"
          aria-expanded={open}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={open && results[active] ? `${listId}-${active}` : undefined}
          placeholder="Find a dataset"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
            setEntered(false);
            setOpen(true);
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
        />
        <kbd>/</kbd>
      </div>
      {open && (
        // Without a tab index, the list would be a stop of the Tab key, because it scrolls.
        <div
          id={listId}
          role="listbox"
          tabIndex={-1}
          aria-label="Datasets"
          aria-busy={isLoading}
          className={styles.list}
        >
          {results.map((node, index) => (
            // The field keeps the focus and names the active option.
            <div
              key={node.id}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              className={styles.option}
              onMouseDown={(event) => {
                event.preventDefault();
                choose(node.id);
              }}
              onMouseMove={() => setActive(index)}
            >
              <div className={styles.name}>{baseName(node.name)}</div>
              <div className={styles.path}>&lrm;{fullName(node.id)}</div>
            </div>
          ))}
          {data && !isLoading && results.length === 0 && (
            <p className={styles.none}>No name of a dataset contains “{data.question.text}”.</p>
          )}
        </div>
      )}
    </div>
  );
}
