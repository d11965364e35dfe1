/** Readers of JSON properties. Any producer can write them, so each value can have any type. */

export type Properties = Record<string, unknown>;

export function properties(value: unknown): Properties {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Properties) : {};
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function list(value: unknown): Properties[] {
  return Array.isArray(value) ? value.map(properties) : [];
}
