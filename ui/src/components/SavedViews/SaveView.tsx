import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { SavedViewsDocument, SaveViewDocument } from '../../api/generated/graphql';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { formatLocation, type Location } from '../../location/location';
import { Icon } from '../Icon/Icon';
import { ErrorNote } from '../Note/Note';
import styles from './SavedViews.module.css';

/** A button that saves the address of the page under a name, for the session's person or for everybody. */
export function SaveView({ location }: { location: Location }) {
  const [isOpen, setOpen] = useState(false);
  const [saved, setSaved] = useState('');
  const panel = useId();
  const button = useRef<HTMLButtonElement>(null);
  const { scopes } = useSession();
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const save = useChange(SaveViewDocument, {
    stale: [SavedViewsDocument],
    onSuccess: ({ saveView }) => {
      setSaved(saveView.name);
      close();
    },
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isOpen) close();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the form from each element inside it
    <div className={styles.save} onKeyDown={onKeyDown}>
      <button
        ref={button}
        type="button"
        className={styles.icon}
        aria-expanded={isOpen}
        aria-controls={panel}
        aria-label="Save this view"
        title="Save this view"
        onClick={() => {
          setSaved('');
          setOpen(!isOpen);
        }}
      >
        <Icon name="save" />
      </button>
      <span role="status" className="visually-hidden">
        {saved && `The view ${saved} is saved.`}
      </span>
      {isOpen && (
        <form
          id={panel}
          className={styles.panel}
          aria-label="Save this view"
          onSubmit={(event) => {
            const read = readForm(event);
            save.mutate({
              name: read('name') ?? '',
              location: `/${formatLocation(location)}`,
              shared: read('shared') !== null,
              replace: read('replace') !== null,
            });
          }}
        >
          <label>
            Name
            {/* biome-ignore lint/a11y/noAutofocus: the reader has just opened this form */}
            <input name="name" required maxLength={120} autoFocus spellCheck={false} autoComplete="off" />
          </label>
          {scopes.includes('declare') && (
            <label className={styles.check}>
              <input type="checkbox" name="shared" value="yes" /> Share it with everybody
            </label>
          )}
          <p className={styles.hint}>The start page lists all views.</p>
          {save.error && (
            <>
              <ErrorNote error={save.error} />
              <label className={styles.check}>
                <input type="checkbox" name="replace" value="yes" /> Replace my view with this name
              </label>
            </>
          )}
          <button type="submit" disabled={save.isPending}>
            Save
          </button>
        </form>
      )}
    </div>
  );
}
