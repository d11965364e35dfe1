import { Icon } from '../Icon/Icon';

interface MarkProps {
  /** Whether it stands at the value that was clicked, not at one that equals it. */
  origin: boolean;
}

/** Says that a value is the one that was clicked, or equals it. */
export function Mark({ origin }: MarkProps) {
  return (
    <>
      {!origin && <Icon name="equal" size={13} />}
      <span className="visually-hidden">{origin ? '(the value that is traced)' : '(equals the traced value)'}</span>
    </>
  );
}
