import type { ReactNode } from 'react';
import { Icon, type IconName } from '../Icon/Icon';
import styles from './Badge.module.css';

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent' | 'coarse';

interface BadgeProps {
  tone?: Tone;
  /** Icon before the text. */
  icon?: IconName;
  /** Tooltip. */
  title?: string | undefined;
  children: ReactNode;
}

/** A state in one or two words. The colour adds no meaning of its own. */
export function Badge({ tone = 'plain', icon, title, children }: BadgeProps) {
  return (
    <span className={`${styles.badge} ${tone === 'plain' ? '' : styles[tone]}`} title={title}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}
