import type { ReactNode } from 'react';
import { Icon, type IconName } from '../Icon/Icon';
import styles from './Badge.module.css';

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent' | 'coarse';

interface BadgeProps {
  /** What it means; the colour only repeats what the words say. */
  tone?: Tone;
  /** Drawn before the words. */
  icon?: IconName;
  /** Further explanation, on hover. */
  title?: string | undefined;
  children: ReactNode;
}

/** A word or two about a state. */
export function Badge({ tone = 'plain', icon, title, children }: BadgeProps) {
  return (
    <span className={`${styles.badge} ${tone === 'plain' ? '' : styles[tone]}`} title={title}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}
