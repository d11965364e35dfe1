import '@xyflow/react/dist/style.css';
import { Controls, type Edge, type Node, ReactFlow, ReactFlowProvider, useReactFlow } from '@xyflow/react';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { properties, text } from '../../facts/read';
import { schemaOf } from '../../facts/schema';
import { type FlowNode, flowOf, mergeGraphs, restrictFlow } from '../../graph/flow';
import { columnId } from '../../graph/ids';
import { shortNames } from '../../graph/names';
import type { Highlight } from '../../graph/path';
import { type Line, type Scene, type SceneLink, sceneOf, toggled } from '../../graph/scene';
import type { LineageGraph as Graph, PathHop } from '../../graph/types';
import { useColumnEdges } from '../../hooks/useColumnEdges';
import { useOperations } from '../../hooks/useOperations';
import { DetailPanel } from '../DetailPanel/DetailPanel';
import { type CardData, FlowCard } from '../FlowCard/FlowCard';
import styles from './LineageGraph.module.css';

interface LineageGraphProps {
  /** What is drawn, and where links between columns are found. */
  graph: Graph;
  /** What the trace went through; without it nothing is dimmed. */
  highlight?: Highlight | undefined;
  /** Whether only the highlighted part is drawn. */
  pathOnly?: boolean;
  /** The runs on the path, whose operations are shown. */
  hops?: readonly PathHop[];
  /** Ids of the columns that the trace goes through. */
  tracedColumns?: ReadonlySet<string>;
  /** What stands under a dataset's name, by its id: how many records of it the trace holds. */
  captions?: ReadonlyMap<string, string>;
  /** Id of the dataset that the page is about. */
  focus: string;
  /** Controls that belong to the graph. */
  children?: ReactNode;
}

const NO_COLUMNS: ReadonlySet<string> = new Set();
const NO_CAPTIONS: ReadonlyMap<string, string> = new Map();
const NO_HOPS: readonly PathHop[] = [];
const MARGIN = {
  padding: { top: '44px', bottom: '30px', left: '16px', right: '16px' },
  maxZoom: 1,
  minZoom: 0.3,
} as const;
const NODE_TYPES = { card: FlowCard };

/** Datasets and jobs as data flows through them, from left to right. A node opens to its columns or operations; its details stand beside. */
export function LineageGraph(props: LineageGraphProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function Canvas({
  graph,
  highlight,
  pathOnly = false,
  hops = NO_HOPS,
  tracedColumns = NO_COLUMNS,
  captions = NO_CAPTIONS,
  focus,
  children,
}: LineageGraphProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<string>();
  const scene = useScene({ graph, highlight, pathOnly, hops, tracedColumns, open });
  const short = useMemo(
    () => shortNames(graph.nodes.filter((node) => node.kind === 'DATASET').map((node) => [node.id, node.name])),
    [graph],
  );
  useFit(scene, selected !== undefined);

  const nodes = scene.nodes.map(
    (item): Node<CardData> => ({
      id: item.id,
      type: 'card',
      position: { x: item.x, y: item.y },
      width: item.width,
      height: item.height,
      data: {
        item,
        title: short.get(item.id) ?? item.node.name,
        caption: captions.get(item.id),
        focus: item.id === focus,
        selected: item.id === selected,
        onSelect: () => setSelected((current) => (current === item.id ? undefined : item.id)),
        onToggle: () => setOpen((current) => toggled(current, item.id)),
      },
    }),
  );
  const node = graph.nodes.find((candidate) => candidate.id === selected);

  return (
    <div className={styles.frame}>
      <section className={`${styles.canvas} ${open.size > 0 || node ? styles.tall : ''}`} aria-label="Lineage graph">
        <div className={styles.tools}>{children}</div>
        <ReactFlow
          nodes={nodes}
          edges={scene.links.map(edgeOf)}
          nodeTypes={NODE_TYPES}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnScroll={false}
          preventScrolling={false}
          minZoom={0.2}
          fitView
          fitViewOptions={MARGIN}
        >
          <Controls showInteractive={false} position="bottom-right" />
        </ReactFlow>
        <Legend scene={scene} />
      </section>
      {node && (
        <DetailPanel
          key={node.id}
          node={node}
          hop={hops.find((hop) => hop.job === node.id)}
          tracedColumns={tracedColumns}
          onClose={() => setSelected(undefined)}
        />
      )}
    </div>
  );
}

function Legend({ scene }: { scene: Scene }) {
  const columns = scene.links.some((link) => link.srcColumn);
  const coarse = scene.links.some((link) => link.coarse);
  const traced = scene.links.some((link) => link.state === 'traced' && !link.srcColumn);
  return (
    <p className={styles.legend}>
      {traced && <span>traced record by record</span>}
      {coarse && <span className={styles.coarseKey}>known only coarsely</span>}
      {columns && <span className={styles.columnKey}>from column to column</span>}
    </p>
  );
}

interface SceneState {
  graph: Graph;
  highlight: Highlight | undefined;
  pathOnly: boolean;
  hops: readonly PathHop[];
  tracedColumns: ReadonlySet<string>;
  open: ReadonlySet<string>;
}

/** Loads what the opened nodes show, and arranges everything; arranged again only when something in it changed. */
function useScene({ graph, highlight, pathOnly, hops, tracedColumns, open }: SceneState): Scene {
  const flow = useMemo(() => {
    const whole = flowOf(graph);
    return pathOnly && highlight ? restrictFlow(whole, highlight.nodes) : whole;
  }, [graph, highlight, pathOnly]);
  const opened = flow.nodes.filter((node) => open.has(node.id));
  const columns = opened.flatMap((node) => schemaOf(node.properties).map((column) => columnId(node.id, column.name)));
  const columnEdges = useColumnEdges(opened.filter((node) => node.kind === 'DATASET').length > 1 ? columns : []).data;
  const runs = opened.flatMap((node) => lastRunWithoutHop(node, hops));
  const operations = useOperations(runs);

  return useMemo(() => {
    const linesOf = (node: FlowNode): Line[] =>
      node.kind === 'DATASET'
        ? schemaOf(node.properties).map(({ name, type }) => ({
            key: name,
            text: name,
            note: type,
            traced: tracedColumns.has(columnId(node.id, name)),
          }))
        : operationsOfJob(node, hops, operations).map((operation, index) => ({
            key: `${index}`,
            text: operation,
            traced: false,
          }));
    return sceneOf({
      flow,
      graph: columnEdges ? mergeGraphs(graph, columnEdges) : graph,
      open,
      linesOf,
      highlight,
      tracedColumns,
    });
  }, [flow, graph, columnEdges, open, hops, operations, highlight, tracedColumns]);
}

function lastRunWithoutHop(node: FlowNode, hops: readonly PathHop[]): string[] {
  if (node.kind !== 'JOB' || hops.some((hop) => hop.job === node.id)) return [];
  const run = text(properties(node.properties)['lastRun']);
  return run ? [run] : [];
}

/** In the order in which data passes them: scans first. */
function operationsOfJob(
  node: FlowNode,
  hops: readonly PathHop[],
  operations: ReadonlyMap<string, string[]>,
): string[] {
  const hop = hops.find((candidate) => candidate.job === node.id);
  const run = text(properties(node.properties)['lastRun']) ?? '';
  return [...(hop?.operations ?? operations.get(run) ?? [])].reverse();
}

/** Keeps the whole scene in view as it changes. */
function useFit(scene: Scene, narrowed: boolean): void {
  const { fitView } = useReactFlow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the panel beside the canvas changes the canvas' size
  useEffect(() => {
    const timer = setTimeout(() => fitView({ ...MARGIN, duration: 160 }), 180); // after the canvas has grown to its new height
    return () => clearTimeout(timer);
  }, [scene, narrowed, fitView]);
}

function edgeOf(link: SceneLink): Edge {
  return {
    id: link.id,
    source: link.src,
    target: link.dst,
    sourceHandle: link.srcColumn ? `out ${link.srcColumn}` : 'out',
    targetHandle: link.dstColumn ? `in ${link.dstColumn}` : 'in',
    className: [link.state, link.coarse ? 'coarse' : '', link.srcColumn ? 'column' : ''].join(' '),
    zIndex: link.state === 'traced' ? 1 : 0,
  };
}
