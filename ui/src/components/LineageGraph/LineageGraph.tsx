import '@xyflow/react/dist/style.css';
import { type Edge, ReactFlowProvider } from '@xyflow/react';
import { type ReactNode, useMemo, useState } from 'react';
import { columnId, nameOfColumn } from '../../graph/ids';
import { jobTitle, shortNames } from '../../graph/names';
import { type Growth, MOST_BOXES } from '../../graph/neighbourhood';
import type { Highlight } from '../../graph/path';
import { anchorsOf, type SceneLink, type SceneNode, toggled } from '../../graph/scene';
import type { LineageGraph as Graph, PathHop } from '../../graph/types';
import { useFact } from '../../hooks/useLineage';
import { useNeighbourhood } from '../../hooks/useNeighbourhood';
import { useScene } from '../../hooks/useScene';
import { DetailPanel } from '../DetailPanel/DetailPanel';
import { cardNode, FlowCanvas, handleId } from '../FlowCanvas/FlowCanvas';
import { type CardData, FlowCard } from '../FlowCard/FlowCard';
import { Legend } from '../Legend/Legend';
import { ErrorNote, Note } from '../Note/Note';
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
  /** Where the drawing was let grow. */
  grown?: readonly Growth[] | undefined;
  onGrow: (grown: readonly Growth[]) => void;
  /** Controls that belong to the graph. */
  children?: ReactNode;
}

const NO_COLUMNS: ReadonlySet<string> = new Set();
const NO_CAPTIONS: ReadonlyMap<string, string> = new Map();
const NO_HOPS: readonly PathHop[] = [];
const NOT_GROWN: readonly Growth[] = [];
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
  grown = NOT_GROWN,
  onGrow,
  children,
}: LineageGraphProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<string>();
  const seeds = useMemo(() => (highlight ? [focus, ...highlight.nodes] : [focus]), [highlight, focus]);
  const around = useNeighbourhood(graph, seeds, grown, pathOnly && highlight !== undefined);
  const scene = useScene({ ...around, highlight, hops, tracedColumns, open });
  const short = useMemo(
    () => shortNames(around.graph.nodes.filter((node) => node.kind === 'DATASET').map((node) => [node.id, node.name])),
    [around.graph],
  );
  const { data: node, error, refetch } = useFact(selected);
  const isFull = scene.nodes.length >= MOST_BOXES;
  const nodes = useMemo(
    () =>
      scene.nodes.map((item) =>
        cardNode<CardData>(
          item,
          {
            item,
            ...wordsOf(item, short, captions),
            focus: item.id === focus,
            selected: item.id === selected,
            hidden: around.hidden.get(item.id),
            onSelect: () => setSelected((current) => (current === item.id ? undefined : item.id)),
            onToggle: () => setOpen((current) => toggled(current, item.id)),
            onGrow: isFull ? undefined : (side) => onGrow([...grown, { id: item.id, side }]),
          },
          anchorsOf(item.node.kind === 'DATASET' ? item.lines.map((line) => columnId(item.id, line.key)) : []),
        ),
      ),
    [scene, short, captions, focus, selected, around.hidden, isFull, grown, onGrow],
  );
  const edges = useMemo(() => {
    const names = new Map(scene.nodes.map((item) => [item.id, item.node.name]));
    return scene.links.map((link) => edgeOf(link, (id) => names.get(id) ?? id));
  }, [scene]);
  const middle = selected ?? grown.at(-1)?.id ?? focus;

  return (
    <>
      <FlowCanvas
        scene={scene}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        centre={scene.nodes.find((item) => item.id === middle) ?? scene.nodes.find((item) => item.id === focus)}
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
      {error && (
        <div className={styles.full}>
          <ErrorNote error={error} onRetry={() => refetch()} />
        </div>
      )}
      {isFull && (
        <div className={styles.full}>
          <Note>
            {MOST_BOXES} boxes are drawn, and a drawing holds no more. To go on, open a dataset at the edge: choose it,
            then its rows.
          </Note>
        </div>
      )}
    </>
  );
}

function wordsOf(item: SceneNode, short: ReadonlyMap<string, string>, captions: ReadonlyMap<string, string>) {
  if (item.node.kind === 'DATASET')
    return { title: short.get(item.id) ?? item.node.name, caption: captions.get(item.id) ?? 'dataset' };
  return jobWords(jobTitle(item.node.name), item.coarse ? 'job, by dataset only' : 'job');
}

const LONG = 18;

/** A long name that reads `{pipeline}.{task}` is cut where it says least: the task stands above, the pipeline below. */
function jobWords(title: string, caption: string) {
  const dot = title.length > LONG ? title.lastIndexOf('.') : -1;
  return dot > 0
    ? { title: title.slice(dot + 1), caption: `${caption} of ${title.slice(0, dot)}` }
    : { title, caption };
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
    sourceHandle: handleId('out', link.srcColumn),
    targetHandle: handleId('in', link.dstColumn),
    className: [link.state, link.coarse ? 'coarse' : '', link.srcColumn ? 'column' : ''].join(' '),
    zIndex: link.state === 'traced' ? 1 : 0,
  };
}
