/** A message with a full stop. Services and file systems write messages with and without one. */
export function asSentence(message: string): string {
  const text = message.trim();
  return /[.!?…:]["”’)]?$/.test(text) ? text : `${text}.`;
}
