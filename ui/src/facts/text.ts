/** A message with a full stop. Services and file systems write messages with and without one. */
export function asSentence(message: string): string {
  const text = message.trim();
  return /[.!?…:]["”’)]?$/.test(text) ? text : `${text}.`;
}

/** `1 record`, `1,048 records` */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
