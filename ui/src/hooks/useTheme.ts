import { useEffect, useState } from 'react';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'headwater-theme';
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

/** Apply the stored theme. Call this before the first drawing, because the browser's storage opens slowly. */
export function applyTheme(): void {
  show(stored());
}

/** The current theme, and a function that selects the next one. `system` follows the operating system. */
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
