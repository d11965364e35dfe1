import { useViewport } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import type { Scene } from '../../graph/scene';
import type { Viewport } from '../../graph/viewport';
import { type Size, useSize } from '../../hooks/useCanvas';
import { useGraph } from './graphContext';
import styles from './LineageGraph.module.css';

/** Above this zoom, the titles of cards are readable. */
const WORDS_ZOOM = 0.3;

/** All cards and links as one picture, for drawings with more visible cards than a browser can handle as elements. */
export function FarDrawing({ scene }: { scene: Scene }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const viewport = useViewport();
  const size = useSize(canvas);
  const { selected } = useGraph();
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (canvas.current && context) draw(context, scene, viewport, size, selected);
  }, [scene, viewport, size, selected]);
  return <canvas ref={canvas} className={styles.far} />;
}

function draw(
  context: CanvasRenderingContext2D,
  scene: Scene,
  viewport: Viewport,
  size: Size,
  selected?: string,
): void {
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
  drawLinks(context, scene, style.borderTopColor, zoom);
  const window = { left: -x / zoom, top: -y / zoom, right: (size.width - x) / zoom, bottom: (size.height - y) / zoom };
  context.font = `600 13px ${style.fontFamily}`;
  for (const card of scene.cards) {
    if (card.x > window.right || card.x + card.width < window.left) continue;
    if (card.y > window.bottom || card.y + card.height < window.top) continue;
    context.beginPath();
    context.roundRect(card.x, card.y, card.width, card.height, 8);
    context.fillStyle = card.id === selected || card.isFocus ? style.outlineColor : style.backgroundColor;
    context.fill();
    context.lineWidth = 1 / zoom;
    context.strokeStyle = style.borderTopColor;
    context.stroke();
    if (zoom < WORDS_ZOOM) continue;
    context.fillStyle = style.color;
    context.fillText(card.title, card.x + 12, card.y + 29, card.width - 20);
  }
}

function drawLinks(context: CanvasRenderingContext2D, { cards, links }: Scene, colour: string, zoom: number): void {
  const byId = new Map(cards.map((card) => [card.id, card]));
  context.beginPath();
  for (const { srcCard, dstCard } of links) {
    const [from, to] = [byId.get(srcCard), byId.get(dstCard)];
    if (!from || !to) continue;
    const [left, right] = [from.x + from.width, to.x];
    const middle = (left + right) / 2;
    context.moveTo(left, from.y + 24);
    context.bezierCurveTo(middle, from.y + 24, middle, to.y + 24, right, to.y + 24);
  }
  context.lineWidth = 1 / zoom;
  context.strokeStyle = colour;
  context.stroke();
}
