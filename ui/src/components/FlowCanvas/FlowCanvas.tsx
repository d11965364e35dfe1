import { Controls, type Edge, type Node, type NodeTypes, ReactFlow } from '@xyflow/react';
import { type ReactNode, useRef } from 'react';
import { canvasHeight } from '../../graph/view';
import { FIT, useFit } from '../../hooks/useFit';
import { useWidth } from '../../hooks/useWidth';
import styles from './FlowCanvas.module.css';

interface FlowCanvasProps {
  /** How large the drawing is. */
  scene: { width: number; height: number };
  nodes: Node[];
  edges: Edge[];
  nodeTypes: NodeTypes;
  minZoom: number;
  /** Whether only what is in sight is in the page: for drawings of hundreds of nodes. */
  sparing?: boolean;
  /** Id of the node whose details stand beside, and how much room they need. */
  selected: string | undefined;
  panelHeight: number;
  panel: ReactNode;
  /** What stands over the drawing: controls, a legend. */
  children?: ReactNode;
  className?: string | undefined;
}

/** React Flow takes pointer events from nodes that can be neither moved nor selected; ours hold buttons. */
const CLICKABLE = { pointerEvents: 'all' } as const;

/** A drawing of nodes and links that fits its frame, with room beside it for the details of one node. */
export function FlowCanvas(props: FlowCanvasProps) {
  const { scene, nodes, edges, nodeTypes, minZoom, sparing = false, selected, panelHeight, panel, children } = props;
  const canvas = useRef<HTMLElement>(null);
  const width = useWidth(canvas);
  const height = Math.max(canvasHeight(scene, width), panel ? panelHeight : 0);
  useFit(scene, { width, height, selected });
  return (
    <div className={styles.frame}>
      <section
        ref={canvas}
        className={[styles.canvas, props.className].filter(Boolean).join(' ')}
        style={{ height }}
        aria-label="Lineage graph"
      >
        <ReactFlow
          nodes={nodes.map((node) => ({ ...node, style: CLICKABLE }))}
          edges={edges}
          nodeTypes={nodeTypes}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnScroll={false}
          preventScrolling={false}
          onlyRenderVisibleElements={sparing}
          minZoom={minZoom}
          fitView
          fitViewOptions={FIT}
        >
          <Controls showInteractive={false} orientation="horizontal" position="top-right" />
        </ReactFlow>
        {children}
      </section>
      {panel}
    </div>
  );
}

/** Where a card stands, as React Flow takes it. */
export function cardNode<Data extends Record<string, unknown>>(
  item: { id: string; x: number; y: number; width: number; height: number },
  data: Data,
): Node<Data> {
  return {
    id: item.id,
    type: 'card',
    position: { x: item.x, y: item.y },
    width: item.width,
    height: item.height,
    data,
  };
}
