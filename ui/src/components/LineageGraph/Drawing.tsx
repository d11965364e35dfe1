import { type Edge, MiniMap, type Node, ReactFlow, useReactFlow, useStore } from '@xyflow/react';
import { useMemo } from 'react';
import { MAX_CARDS } from '../../graph/neighbourhood';
import type { Scene, SceneCard } from '../../graph/scene';
import { MIN_ZOOM, type Viewport } from '../../graph/viewport';
import { Box } from './Box';
import { Card, type CardData } from './Card';
import { type LinkData, makeEdges, makeNodes } from './elements';
import type { GraphActions } from './graphContext';
import styles from './LineageGraph.module.css';
import { LinkLine } from './LinkLine';
import { Picture } from './Picture';

/** From this number of cards on, a small map shows the place of the window in the drawing. */
const MAP_CARDS = 12;
/** In a lower canvas, the map would hide the cards. */
const MAP_HEIGHT = 280;
/** The largest number of visible cards that are elements, in a drawing of more than `MAX_CARDS`. */
const NEAR_CARDS = 40;
const NODE_TYPES = { card: Card, box: Box };
const EDGE_TYPES = { link: LinkLine };
const NO_NODES: Node<CardData>[] = [];
const NO_EDGES: Edge<LinkData>[] = [];

interface DrawingProps {
  scene: Scene;
  /** Height of the canvas in pixels. */
  height: number;
  isLarge: boolean;
  viewport: Viewport;
  actions: GraphActions;
}

/** The cards and links of a scene. */
export function Drawing({ scene, height, isLarge, viewport, actions: { onSelect, onHover } }: DrawingProps) {
  const nodes = useMemo(() => makeNodes(scene.cards), [scene]);
  const edges = useMemo(() => makeEdges(scene), [scene]);
  const isPicture = scene.cards.length > MAX_CARDS;
  const isFar = useIsFar(scene);
  const { screenToFlowPosition } = useReactFlow();
  return (
    <ReactFlow
      nodes={isFar ? NO_NODES : nodes}
      edges={isPicture ? NO_EDGES : edges}
      onPaneClick={({ clientX, clientY }) => {
        const card = isFar && cardAt(scene, screenToFlowPosition({ x: clientX, y: clientY }));
        if (card) onSelect(card.id);
      }}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      zoomOnScroll={isLarge}
      preventScrolling={isLarge}
      onlyRenderVisibleElements
      minZoom={MIN_ZOOM}
      defaultViewport={viewport}
      onEdgeClick={(_, { id }) => onSelect(id)}
      onEdgeMouseEnter={(_, { id }) => onHover(id)}
      onEdgeMouseLeave={() => onHover(undefined)}
      disableKeyboardA11y
    >
      {isPicture && <Picture scene={scene} hasCards={isFar} />}
      {!isFar && scene.cards.length >= MAP_CARDS && height >= MAP_HEIGHT && <Overview isLarge={isLarge} />}
    </ReactFlow>
  );
}

/** Whether more cards are visible than a browser can handle as elements. */
function useIsFar({ cards }: Scene): boolean {
  return useStore(({ transform: [x, y, zoom], width, height }) => {
    if (cards.length <= MAX_CARDS) return false;
    const [left, top] = [-x / zoom, -y / zoom];
    const [right, bottom] = [left + width / zoom, top + height / zoom];
    const isVisible = (card: SceneCard) =>
      card.x < right && card.x + card.width > left && card.y < bottom && card.y + card.height > top;
    return cards.filter(isVisible).length > NEAR_CARDS;
  });
}

function cardAt({ cards }: Scene, { x, y }: { x: number; y: number }): SceneCard | undefined {
  return cards.findLast((card) => x >= card.x && x <= card.x + card.width && y >= card.y && y <= card.y + card.height);
}

function Overview({ isLarge }: { isLarge: boolean }) {
  return (
    <MiniMap
      className={styles.map ?? ''}
      style={isLarge ? { width: 220, height: 140 } : { width: 132, height: 72 }}
      pannable
      zoomable
      ariaLabel="Map of the drawing"
      nodeClassName={({ type }) => (type === 'box' ? 'box' : 'card')}
      nodeBorderRadius={8}
    />
  );
}
