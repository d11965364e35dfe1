/** Words for the aspects of a description. */
export const ASPECTS: Record<string, string> = {
  owner: 'owner',
  steward: 'steward',
  tag: 'tag',
  term: 'term',
  description: 'description',
  retention: 'retention',
  legalHold: 'legal hold',
  broader: 'broader term',
};

export function isHttp(text: string): boolean {
  return /^https?:\/\//.test(text);
}
