import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import { FindDocument, type FindQuery } from '../../api/generated/first/graphql';
import { answerOf } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { datasetOfColumn } from '../../graph/ids';
import { baseName } from '../../graph/names';
import { useFocusKey } from '../../hooks/useFocusKey';
import { navigate } from '../../hooks/useLocation';
import { HOME, type Location } from '../../location/location';
import { Icon } from '../Icon/Icon';
import styles from './SearchBox.module.css';

const FIRST = 50;

type Found = FindQuery['find']['hits'][number]['node'];

/** A search for everything that has a name. The arrow keys select a result, Enter opens it, and the key `/` moves the focus here. */
export function SearchBox() {
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const name = useDeferredValue(text.trim());
  const { data } = useQuery({
    ...answerOf(FindDocument, { text: name, first: FIRST }),
    enabled: open,
  });
  const results = data?.answer.find.hits ?? [];
  const isLoading = data?.question.text !== text.trim();
  const [isEntered, setEntered] = useState(false);
  useFocusKey('/', input);

  const choose = (node: Found | undefined) => {
    if (node === undefined) return;
    navigate(targetOf(node));
    setText('');
    setOpen(false);
    input.current?.blur();
  };
  // Enter opens a result of the text in the field, not of the text before.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the results are there
  useEffect(() => {
    if (!isEntered || isLoading) return;
    setEntered(false);
    choose(results[active]?.node);
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
          aria-label="Find a dataset, column, job, run, owner or tag"
          aria-expanded={open}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={open && results[active] ? `${listId}-${active}` : undefined}
          placeholder="Find anything"
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
          aria-label="Results"
          aria-busy={isLoading}
          className={styles.list}
        >
          {results.map(({ node, namespace, state }, index) => (
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
                choose(node);
              }}
              onMouseMove={() => setActive(index)}
            >
              <div className={styles.name}>
                {baseName(node.name)} <small>{kindText(node, state)}</small>
              </div>
              <div className={styles.path}>&lrm;{pathOf(node, namespace)}</div>
            </div>
          ))}
          {data && !isLoading && results.length === 0 && (
            <p className={styles.none}>Nothing is found for “{data.question.text}”.</p>
          )}
        </div>
      )}
    </div>
  );
}

/** The place of a result: a dataset, that of a column, a job, a run, or the start page with what has the tag or owner. */
function targetOf(node: Found): Location {
  if (node.kind === 'DATASET') return { ...HOME, dataset: node.id };
  if (node.kind === 'COLUMN') return { ...HOME, dataset: datasetOfColumn(node.id) };
  if (node.kind === 'JOB' || node.kind === 'RUN') return { ...HOME, page: node.kind.toLowerCase(), item: node.id };
  return { ...HOME, find: node.name };
}

function kindText({ kind }: Found, state: string | null): string {
  const name = kind === 'PLATFORM' || kind === 'SYSTEM' ? 'namespace' : kind.toLowerCase();
  return state === 'FAIL' || state === 'ABORT' ? `${name}, last run failed` : name;
}

function pathOf({ id, kind, name }: Found, namespace: string | null): string {
  if (kind === 'DATASET') return fullName(id);
  if (kind === 'COLUMN') return fullName(datasetOfColumn(id));
  return namespace && namespace !== name ? `${namespace} · ${name}` : name;
}
