import { useViewport } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import type { Scene } from '../../graph/scene';
import { isData } from '../../graph/types';
import type { Viewport } from '../../graph/viewport';
import { type Size, useSize } from '../../hooks/useCanvas';
import { useGraph } from './graphContext';
import styles from './LineageGraph.module.css';
import { usePath } from './pathHighlight';

/** Above this zoom, the titles of cards are readable. */
const WORDS_ZOOM = 0.3;

interface PictureProps {
  scene: Scene;
  /** Whether the cards are in the picture, too. Otherwise they are elements above it. */
  hasCards: boolean;
}

/** The links of a large drawing as one picture, and its cards where more of them are visible than a browser can handle as elements. */
export function Picture({ scene, hasCards }: PictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const viewport = useViewport();
  const size = useSize(canvas);
  const { selected } = useGraph();
  const path = usePath();
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context) draw(context, { scene, viewport, size, hasCards, selected, path });
  }, [scene, viewport, size, hasCards, selected, path]);
  return <canvas ref={canvas} className={styles.picture} />;
}

interface Content extends PictureProps {
  viewport: Viewport;
  size: Size;
  selected: string | undefined;
  path: ReadonlySet<string> | undefined;
}

/** Thousands of curves are made once for a drawing, and not for every frame of a movement. */
const CURVES = new WeakMap<object, Path2D>();

function draw(context: CanvasRenderingContext2D, content: Content): void {
  const { scene, viewport, size, hasCards, path } = content;
  const { canvas } = context;
  const ratio = devicePixelRatio;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  // The style sheet gives the colours of the theme: a canvas cannot read them from variables.
  const style = getComputedStyle(canvas);
  const { x, y, zoom } = viewport;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(zoom * ratio, 0, 0, zoom * ratio, x * ratio, y * ratio);
  context.lineWidth = 1 / zoom;
  // Thousands of links would be one dark area from far away.
  context.globalAlpha = Math.max(0.2, Math.min(1, 1.6 * zoom));
  context.strokeStyle = style.borderTopColor;
  context.stroke(curvesOf(scene, scene));
  context.globalAlpha = 1;
  context.strokeStyle = style.outlineColor;
  if (path) context.stroke(curvesOf(path, scene, path));
  if (hasCards) drawCards(context, content, style);
}

function drawCards(context: CanvasRenderingContext2D, content: Content, style: CSSStyleDeclaration): void {
  const { scene, viewport, size, selected, path } = content;
  const { x, y, zoom } = viewport;
  const [left, top, right, bottom] = [-x / zoom, -y / zoom, (size.width - x) / zoom, (size.height - y) / zoom];
  const visible = scene.cards.filter(
    (card) => card.x < right && card.x + card.width > left && card.y < bottom && card.y + card.height > top,
  );
  context.font = `600 13px ${style.fontFamily}`;
  for (const card of visible) {
    const isMarked = card.id === selected || card.isFocus || path?.has(card.id);
    context.beginPath();
    context.roundRect(card.x, card.y, card.width, card.height, isData(card) ? 8 : 20);
    context.fillStyle = style.caretColor;
    context.fill();
    context.lineWidth = (isMarked ? 2.5 : 1) / zoom;
    context.strokeStyle = isMarked ? style.outlineColor : style.borderTopColor;
    context.stroke();
    if (zoom < WORDS_ZOOM) continue;
    context.fillStyle = style.color;
    context.fillText(card.title, card.x + 12, card.y + 29, card.width - 20);
  }
}

/** The curves of all links or of the highlighted ones, from the right side of a card to the left side of another. */
function curvesOf(key: object, { cards, links }: Scene, path?: ReadonlySet<string>): Path2D {
  const known = CURVES.get(key);
  if (known) return known;
  const byId = new Map(cards.map((card) => [card.id, card]));
  const curves = new Path2D();
  for (const { id, srcCard, dstCard } of links) {
    if (path && !path.has(id)) continue;
    const [from, to] = [byId.get(srcCard), byId.get(dstCard)];
    if (!from || !to) continue;
    const [left, right] = [from.x + from.width, to.x];
    const middle = (left + right) / 2;
    curves.moveTo(left, from.y + 24);
    curves.bezierCurveTo(middle, from.y + 24, middle, to.y + 24, right, to.y + 24);
  }
  CURVES.set(key, curves);
  return curves;
}
