import '@xyflow/react/dist/style.css';
import { type Edge, ReactFlowProvider } from '@xyflow/react';
import { useMemo, useState } from 'react';
import type { ViewInput, ViewQuery } from '../../api/generated/graphql';
import { type ViewLine, type ViewScene, viewScene } from '../../graph/viewScene';
import { cardNode, FlowCanvas } from '../FlowCanvas/FlowCanvas';
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
const MANY = 150;
const NODE_TYPES = { card: ViewCard };

/** A lineage at chosen levels, without what is hidden: dashed links lead through hidden nodes, and say through how many. */
export function ViewGraph({ shown, view }: ViewGraphProps) {
  const scene = useMemo(() => viewScene(shown.nodes, shown.edges), [shown]);
  const cut = shown.totals.nodes - shown.nodes.length;
  return (
    <ReactFlowProvider>
      <Canvas scene={scene} view={view} />
      {cut > 0 && (
        <Note tone="warn">
          The nearest {shown.nodes.length.toLocaleString('en')} of {shown.totals.nodes.toLocaleString('en')} nodes are
          drawn. Zoom out or hide more to see the whole.
        </Note>
      )}
      {shown.totals.beyond > 0 && (
        <Note tone="warn">At least {shown.totals.beyond.toLocaleString('en')} more lie beyond what was followed.</Note>
      )}
      {shown.notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
    </ReactFlowProvider>
  );
}

function Canvas({ scene, view }: { scene: ViewScene; view: ViewInput }) {
  const [selected, setSelected] = useState<string>();
  const box = scene.nodes.find((candidate) => candidate.id === selected);
  const titleOf = (id: string) => scene.nodes.find((node) => node.id === id)?.title ?? id;
  const nodes = scene.nodes.map((item) =>
    cardNode<ViewCardData>(item, {
      box: item,
      selected: item.id === selected,
      onSelect: () => setSelected((current) => (current === item.id ? undefined : item.id)),
    }),
  );
  return (
    <FlowCanvas
      scene={scene}
      nodes={nodes}
      edges={scene.links.map((link) => edgeOf(link, titleOf))}
      nodeTypes={NODE_TYPES}
      minZoom={0.1}
      sparing={scene.nodes.length > MANY}
      selected={selected}
      panelHeight={PANEL_HEIGHT}
      panel={box && <ViewDetails key={box.id} box={box} scene={scene} view={view} />}
      className={styles.canvas}
    />
  );
}

function edgeOf(link: ViewLine, titleOf: (id: string) => string): Edge {
  const said = link.label ? `, ${link.label}` : '';
  return {
    id: link.id,
    source: link.src,
    target: link.dst,
    ariaLabel: `${titleOf(link.src)} flows into ${titleOf(link.dst)}${said}`,
    ...(link.label ? { label: link.label } : {}),
    ...(link.hidden ? { className: 'hidden' } : {}),
  };
}
