import { useEffect, useState } from 'react';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'headwater-theme';
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

/** Shows the page in the theme that was chosen before. To be called ahead of the first drawing: the browser's storage is slow to open. */
export function applyTheme(): void {
  show(stored());
}

/** The chosen theme and the step to the next one. `system` follows the operating system. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    show(theme);
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return [theme, () => setTheme(NEXT[theme])];
}

function show(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}
