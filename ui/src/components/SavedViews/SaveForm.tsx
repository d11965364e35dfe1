import { SavedViewsDocument, SaveViewDocument } from '../../api/generated/first/graphql';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { formatLocation, type Location } from '../../location/location';
import { ErrorNote } from '../Note/Note';
import styles from './SavedViews.module.css';

interface SaveFormProps {
  /** Id of the form's element. */
  id: string;
  location: Location;
  /** Called with the name of the saved view. */
  onSave: (name: string) => void;
}

/** The form that saves an address of the page under a name. */
export function SaveForm({ id, location, onSave }: SaveFormProps) {
  const { scopes } = useSession();
  const save = useChange(SaveViewDocument, {
    stale: [SavedViewsDocument],
    onSuccess: ({ saveView }) => onSave(saveView.name),
  });
  return (
    <form
      id={id}
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
        <input
          className={styles.field}
          name="name"
          required
          maxLength={120}
          // biome-ignore lint/a11y/noAutofocus: the reader has just opened this form
          autoFocus
          spellCheck={false}
          autoComplete="off"
        />
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
  );
}
