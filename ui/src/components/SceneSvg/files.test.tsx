// @vitest-environment jsdom
import '../../../dev/dom';
import { makeScene } from '../../graph/scene';
import { linksAsCsv } from './files';
import { drawingAsSvg } from './pictures';

const card = (id: string, title: string) => ({
  id,
  kind: 'DATASET' as const,
  title,
  caption: 'dataset',
  name: title,
  isFocus: id === 'dataset:s:a',
});
const HOSTILE = '<script>alert(1)</script> & \u202Egnirts 🚀';
const scene = makeScene({
  draft: {
    cards: [card('dataset:s:a', HOSTILE), card('dataset:s:b', 'b'), card('dataset:s:c', '=c()')],
    links: [{ id: 'l', src: 'dataset:s:a', dst: 'dataset:s:b', label: 'added', change: 'added', weight: 3 }],
  },
});

test('a drawing becomes one SVG document with all cards, its heading, and no reference to the outside', () => {
  const text = drawingAsSvg({ scene, heading: ['Lineage of a', 'As of: now'] });
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
  expect(parsed.querySelector('parsererror')).toBeNull();
  const svg = parsed.documentElement;
  expect(svg.tagName).toBe('svg');
  expect(svg.querySelectorAll('script, image, use, foreignObject, style, [href]')).toHaveLength(0);
  expect(text.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/url\(|https?:/);
  expect(svg.textContent).toContain('As of: now');
  // The title of a card has the whole name, also if the card has no room for it.
  expect([...svg.querySelectorAll('title')].map((title) => title.textContent)).toContain(`${HOSTILE}, dataset`);
  expect(svg.querySelectorAll('path')).toHaveLength(1);
  expect(svg.textContent).toContain('added');
});

test('the links become a table, and a card without links has a row of its own', () => {
  const lines = linksAsCsv(scene).split('\r\n');
  expect(lines[0]).toBe('source,target,source id,target id,flows,note');
  expect(lines[1]).toContain(',b,dataset:s:a,dataset:s:b,3,added');
  // A spreadsheet must not run a name as a formula.
  expect(lines[2]).toBe("'=c(),,dataset:s:c,,,dataset");
});
