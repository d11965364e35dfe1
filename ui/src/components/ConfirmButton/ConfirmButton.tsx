import { useState } from 'react';

interface ConfirmButtonProps {
  /** The verb on the button. */
  label: string;
  /** The object of the verb, for screen readers. */
  object: string;
  disabled?: boolean;
  onConfirm: () => void;
}

/** A button for an action that cannot be undone easily. The second click starts it. */
export function ConfirmButton({ label, object, disabled, onConfirm }: ConfirmButtonProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <button
      type="button"
      disabled={disabled}
      onBlur={() => setAsking(false)}
      aria-label={isAsking ? `Confirm: ${label.toLowerCase()} ${object}` : `${label} ${object}`}
      onClick={() => {
        setAsking(!isAsking);
        if (isAsking) onConfirm();
      }}
    >
      {isAsking ? `Confirm: ${label.toLowerCase()}` : label}
    </button>
  );
}
