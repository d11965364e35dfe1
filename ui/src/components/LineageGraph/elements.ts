/** The nodes and edges of React Flow for a scene. */
import { type Edge, type Node, type NodeHandle, Position } from '@xyflow/react';
import { anchorsOf, isColumnLink, type Scene, type SceneCard, type SceneLink } from '../../graph/scene';
import type { CardData } from './Card';

/** React Flow ignores the pointer on nodes that nobody can move or select, but these nodes hold buttons. */
const CLICKABLE = { pointerEvents: 'all' } as const;
/** Boxes are below links, and cards above them. */
const [BOX, CARD] = [-100, 2];

export interface LinkData extends Record<string, unknown> {
  link: SceneLink;
}

/** With the positions of the handles, React Flow does not need to measure the cards. */
export function makeNodes(cards: readonly SceneCard[]): Node<CardData>[] {
  const depths = depthsOf(cards);
  return cards.map((card) => ({
    id: card.id,
    type: card.isBox ? 'box' : 'card',
    position: { x: card.x, y: card.y },
    width: card.width,
    height: card.height,
    zIndex: card.isBox ? BOX + (depths.get(card.id) ?? 0) : CARD,
    ...(card.isBox ? {} : { style: CLICKABLE }),
    handles: anchorsOf(card).flatMap(({ id, y }): NodeHandle[] => [
      { id: anchorId('in', id), type: 'target', position: Position.Left, x: 0, y, width: 1, height: 1 },
      { id: anchorId('out', id), type: 'source', position: Position.Right, x: card.width, y, width: 1, height: 1 },
    ]),
    data: { card },
  }));
}

/** Number of boxes around each card. */
function depthsOf(cards: readonly SceneCard[]): Map<string, number> {
  const byId = new Map(cards.map((card) => [card.id, card]));
  const depths = new Map<string, number>();
  for (const { id, parent } of cards) {
    let depth = 0;
    for (let at = parent; at !== undefined; at = byId.get(at)?.parent) depth++;
    depths.set(id, depth);
  }
  return depths;
}

export function makeEdges({ cards, links }: Scene): Edge<LinkData>[] {
  const titles = new Map(
    cards.flatMap(({ id, title, lines }) => [
      [id, title] as const,
      ...lines.map(({ key, text }) => [key, text] as const),
    ]),
  );
  return links.map((link) => makeEdge(link, (id) => titles.get(id) ?? id));
}

function makeEdge(link: SceneLink, titleOf: (id: string) => string): Edge<LinkData> {
  const { id, src, dst, srcCard, dstCard, label, state = 'plain' } = link;
  const isColumn = isColumnLink(link);
  // A hidden job is between all columns, so a label at each of hundreds of links would be useless.
  const isMarked = link.isHidden && !isColumn;
  const classes = [
    state,
    link.isCoarse && 'coarse',
    isColumn && 'column',
    isMarked && 'hidden',
    link.isIndirect && 'indirect',
    link.isFormer && 'former',
    link.change,
  ];
  return {
    id,
    type: 'link',
    source: srcCard,
    target: dstCard,
    sourceHandle: anchorId('out', src === srcCard ? '' : src),
    targetHandle: anchorId('in', dst === dstCard ? '' : dst),
    ariaLabel: `${titleOf(src)} ${link.isFormer || link.change === 'gone' ? 'flowed' : 'flows'} into ${titleOf(dst)}${label ? `, ${label}` : ''}`,
    className: classes.filter(Boolean).join(' '),
    zIndex: state === 'traced' ? 1 : 0,
    data: { link },
    ...(label && !isColumn ? { label } : {}),
  };
}

export function anchorId(direction: 'in' | 'out', column = ''): string {
  return column === '' ? direction : `${direction} ${column}`;
}
