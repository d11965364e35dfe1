import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { baseName } from '../../graph/names';
import { useFocusKey } from '../../hooks/useFocusKey';
import { navigate } from '../../hooks/useLocation';
import { useSearch } from '../../hooks/useSearch';
import { HOME } from '../../location/location';
import { Icon } from '../Icon/Icon';
import styles from './SearchBox.module.css';

/** Find a dataset from anywhere: type, choose with the arrow keys, open with Enter. The key `/` leads here. */
export function SearchBox() {
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { data } = useSearch(text, open);
  const found = data?.nodes ?? [];
  useFocusKey('/', input);

  const choose = (id: string | undefined) => {
    if (id === undefined) return;
    navigate({ ...HOME, dataset: id });
    setText('');
    setOpen(false);
    input.current?.blur();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setActive((index) => Math.max(0, Math.min(found.length - 1, index + step)));
    }
    if (event.key === 'Enter') choose(found[active]?.id);
    if (event.key === 'Escape') input.current?.blur();
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
          aria-activedescendant={open && found[active] ? `${listId}-${active}` : undefined}
          placeholder="Find a dataset"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
        />
        <kbd>/</kbd>
      </div>
      {open && (
        // What scrolls would be a stop of the Tab key, and be gone with the focus that it takes.
        <div id={listId} role="listbox" tabIndex={-1} aria-label="Datasets" className={styles.list}>
          {found.map((node, index) => (
            // The field keeps the focus and names the active option, so an option needs no focus of its own.
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
              <div className={styles.path}>&lrm;{node.name}</div>
            </div>
          ))}
          {data && found.length === 0 && <p className={styles.none}>No dataset’s name holds “{text}”.</p>}
        </div>
      )}
    </div>
  );
}
