import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import {
  ChangeViewDocument,
  RemoveViewDocument,
  SavedViewsDocument,
  type SavedViewsQuery,
} from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { parseLocation } from '../../location/location';
import { Badge } from '../Badge/Badge';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import styles from './SavedViews.module.css';

type View = SavedViewsQuery['savedViews'][number];

const STALE = { stale: [SavedViewsDocument] };

/** The views that the session's person saved, and those that others share. Nothing if there are none. */
export function SavedViews() {
  const { data } = useQuery(queryOf(SavedViewsDocument, {}));
  if (!data || data.savedViews.length === 0) return null;
  return (
    <section className={styles.views} aria-labelledby="saved-views">
      <h2 id="saved-views" tabIndex={-1}>
        Saved views
      </h2>
      <ul>
        {data.savedViews.map((view) => (
          <li key={view.id}>
            <SavedView view={view} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function SavedView({ view }: { view: View }) {
  const { id, name, location, shared, mine, owner } = view;
  const [isRenaming, setRenaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { scopes } = useSession();
  const close = () => {
    setRenaming(false);
    button.current?.focus();
  };
  const change = useChange(ChangeViewDocument, { ...STALE, onSuccess: () => close() });
  const remove = useChange(RemoveViewDocument, { ...STALE, onSuccess: focusHeading });
  const error = change.error ?? remove.error;
  return (
    <>
      {isRenaming ? (
        <form
          className={styles.actions}
          aria-label={`Rename ${name}`}
          onSubmit={(event) => change.mutate({ id, name: readForm(event)('name'), shared: null })}
          onKeyDown={({ key }) => key === 'Escape' && close()}
        >
          <input
            className={styles.field}
            name="name"
            aria-label="New name"
            defaultValue={name}
            required
            maxLength={120}
            // biome-ignore lint/a11y/noAutofocus: the reader has just opened this form
            autoFocus
          />
          <button type="submit" disabled={change.isPending}>
            Save
          </button>
        </form>
      ) : (
        <Link to={locationOf(location)} className={styles.name}>
          <bdi>{name}</bdi>
        </Link>
      )}
      {shared && <Badge title={`${owner} shares this view with everybody.`}>{mine ? 'shared' : `by ${owner}`}</Badge>}
      {(mine || scopes.includes('admin')) && (
        <span className={styles.actions}>
          {mine && (
            <button ref={button} type="button" aria-label={`Rename ${name}`} onClick={() => setRenaming(!isRenaming)}>
              Rename
            </button>
          )}
          {mine && (shared || scopes.includes('declare')) && (
            <button
              type="button"
              aria-label={`${shared ? 'Stop sharing' : 'Share'} ${name}`}
              onClick={() => change.mutate({ id, name, shared: !shared })}
            >
              {shared ? 'Stop sharing' : 'Share'}
            </button>
          )}
          <ConfirmButton label="Remove" object={name} onConfirm={() => remove.mutate({ id })} />
        </span>
      )}
      {error && <ErrorNote error={error} />}
    </>
  );
}

/** Give the focus to the heading, because the button of a removed view disappears. */
function focusHeading() {
  document.getElementById('saved-views')?.focus();
}

/** The place within this page that a saved address names. Everything before the question mark is left out. */
function locationOf(address: string) {
  const at = address.indexOf('?');
  return parseLocation(at < 0 ? '' : address.slice(at));
}
