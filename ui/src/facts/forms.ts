import type { FormEvent } from 'react';

/** Read the fields of a submitted form as text without surrounding spaces. Empty fields are null. */
export function readForm(event: FormEvent<HTMLFormElement>): (field: string) => string | null {
  event.preventDefault();
  const fields = new FormData(event.currentTarget);
  return (field) => String(fields.get(field) ?? '').trim() || null;
}

/** Split names that are separated by commas. Null if there are none. */
export function splitNames(text: string | null): string[] | null {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return names.length > 0 ? names : null;
}
