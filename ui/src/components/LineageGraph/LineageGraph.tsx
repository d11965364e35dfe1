import '@xyflow/react/dist/style.css';
import { type Edge, ReactFlowProvider } from '@xyflow/react';
import { type ReactNode, useMemo, useState } from 'react';
import { nameOfColumn } from '../../graph/ids';
import { jobTitle, shortNames } from '../../graph/names';
import type { Highlight } from '../../graph/path';
import { type SceneLink, type SceneNode, toggled } from '../../graph/scene';
import type { LineageGraph as Graph, PathHop } from '../../graph/types';
import { useScene } from '../../hooks/useScene';
import { DetailPanel } from '../DetailPanel/DetailPanel';
import { cardNode, FlowCanvas } from '../FlowCanvas/FlowCanvas';
import { type CardData, FlowCard } from '../FlowCard/FlowCard';
import { Legend } from '../Legend/Legend';
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
const PANEL_HEIGHT = 400;
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
  const titleOf = (id: string) => scene.nodes.find((item) => item.id === id)?.node.name ?? id;
  const node = graph.nodes.find((candidate) => candidate.id === selected);
  const nodes = scene.nodes.map((item) =>
    cardNode<CardData>(item, {
      item,
      ...wordsOf(item, short, captions),
      focus: item.id === focus,
      selected: item.id === selected,
      onSelect: () => setSelected((current) => (current === item.id ? undefined : item.id)),
      onToggle: () => setOpen((current) => toggled(current, item.id)),
    }),
  );

  return (
    <FlowCanvas
      scene={scene}
      nodes={nodes}
      edges={scene.links.map((link) => edgeOf(link, titleOf))}
      nodeTypes={NODE_TYPES}
      minZoom={0.2}
      selected={selected}
      panelHeight={PANEL_HEIGHT}
      panel={
        node && (
          <DetailPanel
            key={node.id}
            node={node}
            hop={hops.find((hop) => hop.job === node.id)}
            tracedColumns={tracedColumns}
            onClose={() => setSelected(undefined)}
          />
        )
      }
    >
      <div className={styles.tools}>{children}</div>
      <Legend links={scene.links} />
    </FlowCanvas>
  );
}

function wordsOf(item: SceneNode, short: ReadonlyMap<string, string>, captions: ReadonlyMap<string, string>) {
  if (item.node.kind === 'DATASET')
    return { title: short.get(item.id) ?? item.node.name, caption: captions.get(item.id) ?? 'dataset' };
  return { title: jobTitle(item.node.name), caption: item.coarse ? 'job, coarse' : 'job' };
}

function edgeOf(link: SceneLink, titleOf: (id: string) => string): Edge {
  const names =
    link.srcColumn && link.dstColumn
      ? [nameOfColumn(link.srcColumn), nameOfColumn(link.dstColumn)]
      : [titleOf(link.src), titleOf(link.dst)];
  return {
    ariaLabel: names.join(' flows into '),
    id: link.id,
    source: link.src,
    target: link.dst,
    sourceHandle: link.srcColumn ? `out ${link.srcColumn}` : 'out',
    targetHandle: link.dstColumn ? `in ${link.dstColumn}` : 'in',
    className: [link.state, link.coarse ? 'coarse' : '', link.srcColumn ? 'column' : ''].join(' '),
    zIndex: link.state === 'traced' ? 1 : 0,
  };
}
