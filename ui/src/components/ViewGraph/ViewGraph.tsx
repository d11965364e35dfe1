import '@xyflow/react/dist/style.css';
import { type Edge, ReactFlowProvider } from '@xyflow/react';
import { useMemo, useState } from 'react';
import type { ViewInput, ViewQuery } from '../../api/generated/graphql';
import { keyColumns } from '../../graph/columns';
import { anchorsOf } from '../../graph/scene';
import { boxNamed, type ViewBox, type ViewLine, type ViewScene, viewScene } from '../../graph/viewScene';
import { useColumnEdges } from '../../hooks/useColumnEdges';
import { cardNode, FlowCanvas, handleId } from '../FlowCanvas/FlowCanvas';
import { Note } from '../Note/Note';
import { ViewCard, type ViewCardData } from '../ViewCard/ViewCard';
import { ViewDetails } from '../ViewDetails/ViewDetails';
import styles from './ViewGraph.module.css';

interface ViewGraphProps {
  shown: ViewQuery['view'];
  /** What the view was asked. */
  view: ViewInput;
}

const PANEL_HEIGHT = 320;
const NODE_TYPES = { card: ViewCard };
const NO_KEYS: ReadonlySet<string> = new Set();

/** A lineage at chosen levels, without what is hidden: dashed links lead through hidden nodes, and say through how many. */
export function ViewGraph({ shown, view }: ViewGraphProps) {
  const columns = useMemo(() => shown.nodes.flatMap(({ node }) => (node.kind === 'COLUMN' ? [node.id] : [])), [shown]);
  const derivations = useColumnEdges(columns).data;
  const keys = useMemo(
    () => (columns.length > 0 && derivations ? keyColumns(derivations.edges) : NO_KEYS),
    [columns, derivations],
  );
  const scene = useMemo(() => viewScene(shown.nodes, shown.edges, keys), [shown, keys]);
  const { drawn } = scene;
  const { nodes, beyond } = shown.totals;
  return (
    <ReactFlowProvider>
      <Canvas scene={scene} view={view} />
      <div className={styles.notes}>
        {nodes > drawn && (
          <Note tone="warn">
            The nearest {drawn.toLocaleString('en')} of {nodes.toLocaleString('en')} nodes are drawn. To see the rest,
            choose a coarser level above, or hide what you do not need.
          </Note>
        )}
        {beyond > 0 && (
          <Note tone="warn">At least {beyond.toLocaleString('en')} more lie beyond what was followed.</Note>
        )}
        {shown.notes.map((note) => (
          <Note key={note}>{note}</Note>
        ))}
      </div>
    </ReactFlowProvider>
  );
}

function Canvas({ scene, view }: { scene: ViewScene; view: ViewInput }) {
  const [selected, setSelected] = useState<string>();
  const box = selected === undefined ? undefined : boxNamed(scene, selected);
  const nodes = useMemo(() => {
    const choose = (id: string) => setSelected((current) => (current === id ? undefined : id));
    return scene.nodes.map((item) => {
      const lines = item.lines.map((line) => line.key);
      return cardNode<ViewCardData>(item, { box: item, selected, onSelect: choose }, anchorsOf(lines));
    });
  }, [scene, selected]);
  const edges = useMemo(() => {
    const titles = new Map(scene.nodes.flatMap((item) => [[item.id, item.title] as const, ...linesOf(item)]));
    return scene.links.map((link) => edgeOf(link, (id) => titles.get(id) ?? id));
  }, [scene]);
  return (
    <FlowCanvas
      scene={scene}
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      centre={scene.nodes.find((item) => item.id === box?.box) ?? scene.nodes.find((item) => item.focus)}
      panelHeight={PANEL_HEIGHT}
      panel={box && <ViewDetails key={box.id} box={box} scene={scene} view={view} />}
      className={styles.canvas}
    />
  );
}

const linesOf = (item: ViewBox) => item.lines.map((line) => [line.key, line.text] as const);

function edgeOf(link: ViewLine, titleOf: (id: string) => string): Edge {
  const label = link.label ? `, ${link.label}` : '';
  // Between columns a job always stands hidden: to say so at each of hundreds of links would say nothing.
  const isOfColumns = link.src !== link.srcBox && link.dst !== link.dstBox;
  return {
    id: link.id,
    source: link.srcBox,
    target: link.dstBox,
    sourceHandle: handleId('out', link.src === link.srcBox ? '' : link.src),
    targetHandle: handleId('in', link.dst === link.dstBox ? '' : link.dst),
    ariaLabel: `${titleOf(link.src)} flows into ${titleOf(link.dst)}${label}`,
    ...(link.label && !isOfColumns ? { label: link.label } : {}),
    ...(link.hidden && !isOfColumns ? { className: 'hidden' } : {}),
  };
}
