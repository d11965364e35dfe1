import '@xyflow/react/dist/style.css';
import {
  ControlButton,
  Controls,
  type Edge,
  type Node,
  type NodeHandle,
  Position,
  ReactFlow,
  ReactFlowProvider,
} from '@xyflow/react';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import type { ViewInput } from '../../api/generated/graphql';
import type { Side } from '../../graph/neighbourhood';
import { anchorsOf, type Draft, findSubject, isColumnLink, type Scene, type SceneLink } from '../../graph/scene';
import { canvasHeight, fitViewport, MIN_ZOOM } from '../../graph/viewport';
import { useFit, useWidth } from '../../hooks/useCanvas';
import { type TraceLines, useScene } from '../../hooks/useScene';
import { DetailPanel } from '../DetailPanel/DetailPanel';
import { Icon } from '../Icon/Icon';
import { anchorId, Card, type CardActions, type CardData } from './Card';
import styles from './LineageGraph.module.css';

interface LineageGraphProps {
  draft: Draft;
  /** The question behind the draft, if it is a view. */
  view?: ViewInput;
  trace?: TraceLines;
  /** Id of the card in the middle, if the full drawing is not readable. */
  centre?: string | undefined;
  /** Called for more neighbours of a card. Absent if the drawing has no space for them. */
  onGrow?: ((id: string, side: Side) => void) | undefined;
  /** Controls on top of the drawing. */
  children?: ReactNode;
}

const PANEL_HEIGHT = 400;
const NODE_TYPES = { card: Card };

/** A drawing of nodes and links, with the details of the selected node at its side. */
export function LineageGraph(props: LineageGraphProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function Canvas({ draft, view, trace, centre, onGrow, children }: LineageGraphProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<string>();
  const scene = useScene(draft, open, trace);
  const subject = selected === undefined ? undefined : findSubject(scene, selected);
  const nodes = useMemo(
    () =>
      makeNodes(scene, {
        selected,
        onSelect: (id) => setSelected((current) => (current === id ? undefined : id)),
        onToggle: (id) => setOpen((current) => toggle(current, id)),
        onGrow,
      }),
    [scene, selected, onGrow],
  );
  const edges = useMemo(() => makeEdges(scene), [scene]);
  const middle =
    scene.cards.find(({ id }) => id === (subject?.card ?? centre)) ?? scene.cards.find(({ isFocus }) => isFocus);

  const canvas = useRef<HTMLElement>(null);
  const width = useWidth(canvas);
  const height = Math.max(canvasHeight(scene, width), subject ? PANEL_HEIGHT : 0);
  const showAll = useFit(scene, width, height, middle);
  return (
    <div className={styles.frame}>
      <section ref={canvas} className={styles.canvas} style={{ height }} aria-label="Lineage graph">
        {width > 0 && (
          <ReactFlow
            nodes={nodes}
            edges={edges}
            nodeTypes={NODE_TYPES}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            zoomOnScroll={false}
            preventScrolling={false}
            onlyRenderVisibleElements
            minZoom={MIN_ZOOM}
            defaultViewport={fitViewport(scene, { width, height }, middle)}
          >
            <Controls showInteractive={false} showFitView={false} orientation="horizontal" position="top-right">
              <ControlButton onClick={showAll} title="Show the whole" aria-label="Show the whole">
                <Icon name="whole" size={12} />
              </ControlButton>
            </Controls>
          </ReactFlow>
        )}
        <div className={styles.tools}>{children}</div>
        <Legend links={scene.links} />
      </section>
      {subject && (
        <DetailPanel
          key={subject.id}
          subject={subject}
          scene={scene}
          view={view}
          trace={trace}
          onClose={() => setSelected(undefined)}
        />
      )}
    </div>
  );
}

/** The meaning of the lines, for those kinds of links that the drawing has. */
function Legend({ links }: { links: readonly SceneLink[] }) {
  const flows = links.filter((link) => !isColumnLink(link));
  return (
    <p className={styles.legend}>
      {flows.some((link) => link.state === 'traced' && !link.isCoarse) && <span>traced record by record</span>}
      {flows.some((link) => link.isCoarse) && <span className={styles.coarse}>known by dataset only</span>}
      {flows.length < links.length && <span className={styles.column}>from column to column</span>}
    </p>
  );
}

function toggle(ids: ReadonlySet<string>, id: string): Set<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** React Flow ignores the pointer on nodes that nobody can move or select, but these nodes hold buttons. */
const CLICKABLE = { pointerEvents: 'all' } as const;

/** With the positions of the handles, React Flow does not need to measure the cards. */
function makeNodes(scene: Scene, data: CardActions): Node<CardData>[] {
  return scene.cards.map((card) => ({
    id: card.id,
    type: 'card',
    position: { x: card.x, y: card.y },
    width: card.width,
    height: card.height,
    style: CLICKABLE,
    handles: anchorsOf(card).flatMap(({ id, y }): NodeHandle[] => [
      { id: anchorId('in', id), type: 'target', position: Position.Left, x: 0, y, width: 1, height: 1 },
      { id: anchorId('out', id), type: 'source', position: Position.Right, x: card.width, y, width: 1, height: 1 },
    ]),
    data: { ...data, card },
  }));
}

function makeEdges({ cards, links }: Scene): Edge[] {
  const titles = new Map(
    cards.flatMap(({ id, title, lines }) => [
      [id, title] as const,
      ...lines.map(({ key, text }) => [key, text] as const),
    ]),
  );
  return links.map((link) => makeEdge(link, (id) => titles.get(id) ?? id));
}

function makeEdge(link: SceneLink, titleOf: (id: string) => string): Edge {
  const { id, src, dst, srcCard, dstCard, label, state = 'plain' } = link;
  const isColumn = isColumnLink(link);
  // A hidden job is between all columns, so a label at each of hundreds of links would be useless.
  const isMarked = link.isHidden && !isColumn;
  return {
    id,
    source: srcCard,
    target: dstCard,
    sourceHandle: anchorId('out', src === srcCard ? '' : src),
    targetHandle: anchorId('in', dst === dstCard ? '' : dst),
    ariaLabel: `${titleOf(src)} flows into ${titleOf(dst)}${label ? `, ${label}` : ''}`,
    className: [state, link.isCoarse && 'coarse', isColumn && 'column', isMarked && 'hidden'].filter(Boolean).join(' '),
    zIndex: state === 'traced' ? 1 : 0,
    ...(label && !isColumn ? { label } : {}),
  };
}
