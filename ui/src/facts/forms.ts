import type { FormEvent } from 'react';

/** Read the fields of a submitted form as text without surrounding spaces. Empty fields are null. */
export function readForm(event: FormEvent<HTMLFormElement>): (field: string) => string | null {
  event.preventDefault();
  const fields = new FormData(event.currentTarget);
  return (field) => String(fields.get(field) ?? '').trim() || null;
}
