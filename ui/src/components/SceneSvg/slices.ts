import type { Scene } from '../../graph/scene';

/** Space around a drawing. */
export const PAD = 24;

/** A part of the width of a picture of a scene. */
export interface Slice {
  from: number;
  to: number;
}

/** Cut a wide drawing between its columns of cards, so that each part is readable on paper. A column is never cut. */
export function slicesOf({ cards, width }: Pick<Scene, 'cards' | 'width'>, most: number): Slice[] {
  const end = width + 2 * PAD;
  const spans = cards
    .filter(({ isBox }) => !isBox)
    .map((card) => ({ from: card.x + PAD, to: card.x + card.width + PAD }))
    .toSorted((a, b) => a.from - b.from);
  const slices: Slice[] = [];
  let start = 0;
  let last = 0;
  for (const { from, to } of spans) {
    if (to - start > most && from > last && last > start) {
      const middle = (last + from) / 2;
      slices.push({ from: start, to: middle });
      start = middle;
    }
    last = Math.max(last, to);
  }
  return [...slices, { from: start, to: end }];
}
