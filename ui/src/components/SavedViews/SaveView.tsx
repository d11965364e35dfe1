import { type KeyboardEvent, useId, useRef, useState } from 'react';
import type { Location } from '../../location/location';
import { Icon } from '../Icon/Icon';
import styles from './SavedViews.module.css';
// A script of its own would come too late for a reader who types at once after the click.
import { SaveForm } from './SaveForm';

/** A button that saves the address of the page under a name, for the session's person or for everybody. */
export function SaveView({ location }: { location: Location }) {
  const [isOpen, setOpen] = useState(false);
  const [saved, setSaved] = useState('');
  const panel = useId();
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
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
        <SaveForm
          id={panel}
          location={location}
          onSave={(name) => {
            setSaved(name);
            close();
          }}
        />
      )}
    </div>
  );
}
