import type { SceneCard } from '../../graph/scene';
import { PAD, slicesOf } from './slices';

const card = (x: number, isBox = false) =>
  ({ id: `${x}`, x, y: 0, width: 100, height: 50, isBox }) as unknown as SceneCard;

test('a wide drawing is cut between columns of cards, never through one', () => {
  const cards = [card(0), card(0), card(150), card(300), card(450), card(0, true)];
  const slices = slicesOf({ cards, width: 550 }, 320);
  expect(slices).toEqual([
    { from: 0, to: 275 + PAD },
    { from: 275 + PAD, to: 550 + 2 * PAD },
  ]);
});

test('a drawing that fits, or that has no gap, stays whole', () => {
  expect(slicesOf({ cards: [card(0), card(150)], width: 250 }, 400)).toEqual([{ from: 0, to: 250 + 2 * PAD }]);
  expect(slicesOf({ cards: [card(0), card(60), card(120)], width: 220 }, 150)).toHaveLength(1);
  expect(slicesOf({ cards: [], width: 0 }, 150)).toHaveLength(1);
});
