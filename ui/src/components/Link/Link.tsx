import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { hrefOf, navigate } from '../../hooks/useLocation';
import type { Location } from '../../location/location';

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  /** The target. Readers can copy the link or open it in a new tab. */
  to: Location;
}

/** A link within the page. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={hrefOf(to)} onClick={follow}>
      {children}
    </a>
  );
}
