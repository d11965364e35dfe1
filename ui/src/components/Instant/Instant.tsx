import { ago, instantText } from '../../facts/time';

interface InstantProps {
  /** An instant in ISO 8601. */
  at: string;
  /** Whether to show the distance from now. The instant is then the tooltip. */
  relative?: boolean;
}

export function Instant({ at, relative = false }: InstantProps) {
  return (
    <time dateTime={at} title={relative ? instantText(at) : undefined}>
      {relative ? ago(at) : instantText(at)}
    </time>
  );
}
