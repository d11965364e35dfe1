import {
  ControlButton,
  Controls,
  type Edge,
  type Node,
  type NodeHandle,
  type NodeTypes,
  Position,
  ReactFlow,
} from '@xyflow/react';
import { type ReactNode, useRef } from 'react';
import type { Placed } from '../../graph/box';
import { canvasHeight, SMALLEST_ZOOM, viewportOf } from '../../graph/view';
import { useFit } from '../../hooks/useFit';
import { useWidth } from '../../hooks/useWidth';
import { Icon } from '../Icon/Icon';
import styles from './FlowCanvas.module.css';

interface FlowCanvasProps {
  /** How large the drawing is. */
  scene: { width: number; height: number };
  nodes: Node[];
  edges: Edge[];
  nodeTypes: NodeTypes;
  /** What stands in the middle where the whole has no room. */
  centre: Placed | undefined;
  /** How much room the details of a node need. */
  panelHeight: number;
  panel: ReactNode;
  /** What stands over the drawing: controls, a legend. */
  children?: ReactNode;
  className?: string | undefined;
}

/** A drawing of nodes and links in its frame, with room beside it for the details of one node. Only what is in sight is in the page. */
export function FlowCanvas(props: FlowCanvasProps) {
  const { scene, nodes, edges, nodeTypes, centre, panelHeight, panel, children } = props;
  const canvas = useRef<HTMLElement>(null);
  const width = useWidth(canvas);
  const height = Math.max(canvasHeight(scene, width), panel ? panelHeight : 0);
  const showWhole = useFit(scene, width, height, centre);
  return (
    <div className={styles.frame}>
      <section
        ref={canvas}
        className={[styles.canvas, props.className].filter(Boolean).join(' ')}
        style={{ height }}
        aria-label="Lineage graph"
      >
        {width > 0 && (
          <ReactFlow
            nodes={nodes}
            edges={edges}
            nodeTypes={nodeTypes}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            zoomOnScroll={false}
            preventScrolling={false}
            onlyRenderVisibleElements
            minZoom={SMALLEST_ZOOM}
            defaultViewport={viewportOf(scene, { width, height }, centre)}
          >
            <Controls showInteractive={false} showFitView={false} orientation="horizontal" position="top-right">
              <ControlButton onClick={showWhole} title="Show the whole" aria-label="Show the whole">
                <Icon name="whole" size={12} />
              </ControlButton>
            </Controls>
          </ReactFlow>
        )}
        {children}
      </section>
      {panel}
    </div>
  );
}

/** React Flow takes pointer events from nodes that can be neither moved nor selected; ours hold buttons. */
const CLICKABLE = { pointerEvents: 'all' } as const;

/** A place in a card where links begin and end: the middle of its head, or a line. */
export interface Anchor {
  /** The id of the line; '' for the head. */
  id: string;
  /** From the card's upper edge. */
  y: number;
}

/** Where a card stands, as React Flow takes it. Told where links end, it draws them without measuring the cards. */
export function cardNode<Data extends Record<string, unknown>>(
  item: Placed,
  data: Data,
  anchors: readonly Anchor[],
): Node<Data> {
  return {
    id: item.id,
    type: 'card',
    position: { x: item.x, y: item.y },
    width: item.width,
    height: item.height,
    style: CLICKABLE,
    handles: anchors.flatMap(({ id, y }): NodeHandle[] => [
      { id: handleId('in', id), type: 'target', position: Position.Left, x: 0, y, width: 1, height: 1 },
      { id: handleId('out', id), type: 'source', position: Position.Right, x: item.width, y, width: 1, height: 1 },
    ]),
    data,
  };
}

/** What a place for links is called. */
export function handleId(way: 'in' | 'out', anchor = ''): string {
  return anchor === '' ? way : `${way} ${anchor}`;
}
