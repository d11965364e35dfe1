import { Icon } from '../Icon/Icon';

interface MarkProps {
  /** Whether this is the clicked value, not an equal one. */
  origin: boolean;
}

/** The mark of the clicked value and of equal values. */
export function Mark({ origin }: MarkProps) {
  return (
    <>
      {!origin && <Icon name="equal" size={13} />}
      <span className="visually-hidden">{origin ? '(the value that is traced)' : '(equals the traced value)'}</span>
    </>
  );
}
