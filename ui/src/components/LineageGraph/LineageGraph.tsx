import '@xyflow/react/dist/style.css';
import { ReactFlowProvider } from '@xyflow/react';
import {
  type ReactNode,
  type RefObject,
  Suspense,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { NodeKind, ViewInput } from '../../api/generated/graphql';
import { stateWordsOf } from '../../facts/runs';
import type { Depth, Side } from '../../graph/neighbourhood';
import { pathOfEnds } from '../../graph/route';
import {
  type Draft,
  findLink,
  findSubject,
  type Scene,
  type SceneCard,
  type SceneLink,
  type Subject,
} from '../../graph/scene';
import { markStale, markSuspects } from '../../graph/stale';
import { canvasHeight, fitViewport, MARGIN } from '../../graph/viewport';
import type { ViewChoice } from '../../graph/zoom';
import { useFit, useSize } from '../../hooks/useCanvas';
import { type NodeFacts, useFacts } from '../../hooks/useFacts';
import { type TraceLines, useScene } from '../../hooks/useScene';
import { useSuspects } from '../../hooks/useSuspects';
import type { GraphState } from '../../location/location';
import { preloadLater, split } from '../../split';
import { Drawing } from './Drawing';
import { GraphTools } from './GraphTools';
import { GraphTree } from './GraphTree';
import { type GraphActions, GraphContext } from './graphContext';
import { Legend } from './Legend';
import styles from './LineageGraph.module.css';
import { makePathStore, PathContext } from './pathHighlight';
import { useGraphKeys } from './useGraphKeys';
import { useWheelLevels } from './useWheelLevels';

export interface LineageGraphProps {
  draft: Draft;
  /** The question behind the draft, if it is a view. */
  view?: ViewInput | undefined;
  trace?: TraceLines;
  /** Id of the card in the middle, if the full drawing is not readable. */
  centre?: string | undefined;
  /** Whether the drawing is older than the controls. */
  isLoading?: boolean;
  state?: GraphState | undefined;
  onState: (state: GraphState) => void;
  /** Called for more neighbours of a card. Absent if the drawing has no space for them. */
  onGrow?: ((id: string, side: Side) => void) | undefined;
  steps?: Depth | undefined;
  onSteps: (steps: Depth) => void;
  /** The levels of the drawing, and the calls that change them. A trace has one level. */
  levels?: ViewChoice;
  onLevels?: (levels: ViewChoice) => void;
  onEnter?: (id: string, level: NodeKind) => void;
  onLeave?: (ids: ReadonlySet<string>) => void;
  onMask?: (mask: string) => void;
  onBetween?: (id: string) => void;
  /** Receives the drawing, for its files. */
  sceneRef?: RefObject<Scene | null> | undefined;
  /** Controls on top of the drawing. */
  children?: ReactNode;
}

// The first drawing does not wait for these scripts.
const DetailPanel = split(async () => (await import('../DetailPanel/DetailPanel')).DetailPanel);
const LinkPanel = split(async () => (await import('../DetailPanel/LinkPanel')).LinkPanel);
const PrintedScene = split(async () => (await import('./PrintedScene')).PrintedScene);

const PANEL_HEIGHT = 420;
/** Space above and below the controls. */
const BAR_GAP = 16;
const NO_STATE: GraphState = {};

/** A drawing of nodes and links, with the details of the selected node at its side. */
export function LineageGraph(props: LineageGraphProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function Canvas(props: LineageGraphProps) {
  const { draft, view, trace, centre, isLoading = false, state = NO_STATE, onState, sceneRef, children } = props;
  const open = useMemo(() => new Set(state.open), [state.open]);
  const scene = useScene(draft, open, trace);
  const lastRuns = useFacts(
    draft.cards.map(({ id }) => id),
    !view?.asOf,
  );
  const suspects = useSuspects(lastRuns);
  const facts = useMemo(
    () => markSuspects(markStale(lastRuns, scene.cards, scene.links), suspects),
    [lastRuns, scene, suspects],
  );
  const worded = useMemo(() => withStateWords(scene, facts), [scene, facts]);
  useEffect(() => {
    if (sceneRef) sceneRef.current = worded;
  }, [worded, sceneRef]);
  const { subject, link } = findSelection(scene, state.selected);
  const [anchor, setAnchor] = useState<string>();
  const store = useMemo(makePathStore, []);
  const [hovered, setHovered] = useState<string>();
  const actions = useActions(props, open, { facts, onHover: setHovered, onAnchor: setAnchor });
  useHighlight(scene, hovered ?? state.selected, store.set);

  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLElement>(null);
  const size = useSize(canvas);
  const least = subject || link ? PANEL_HEIGHT : 0;
  // Where the controls need more than one line, the drawing begins below them.
  const bar = useRef<HTMLDivElement>(null);
  const below = Math.max(0, Math.ceil(useSize(bar).height) + BAR_GAP - MARGIN.top);
  const height = state.isLarge ? size.height - below : Math.max(canvasHeight(scene, size.width), least);
  // The list has an element for each card, so it is written in a frame of its own.
  const listed = useDeferredValue<Scene | undefined>(scene, undefined);
  const middle = findMiddle(scene, anchor ?? subject?.card ?? centre);
  const { showAll, showCard, goToCard } = useFit(scene, { width: size.width, height }, middle);
  const close = () => onState(withSelection(state, undefined));
  useGraphKeys(frame, { scene, showAll, showCard, actions, state, onState });
  useWheelLevels(canvas, scene, actions);
  return (
    <PathContext value={store}>
      <GraphContext value={actions}>
        <div ref={frame} className={`${styles.frame} ${state.isLarge ? styles.large : ''}`} aria-busy={isLoading}>
          <section
            ref={canvas}
            className={`${styles.canvas} ${isLoading ? styles.loading : ''}`}
            style={state.isLarge ? undefined : { height: height + below }}
            aria-label="Lineage graph"
          >
            <div className={styles.drawing} style={{ top: below }}>
              {size.width > 0 && (
                <Drawing
                  scene={scene}
                  height={height}
                  isLarge={state.isLarge ?? false}
                  viewport={fitViewport(scene, { width: size.width, height }, middle)}
                  actions={actions}
                />
              )}
            </div>
            <GraphTools
              {...props}
              bar={bar}
              scene={scene}
              state={state}
              onFit={showAll}
              onFind={(id) => {
                onState(withSelection(state, id));
                goToCard(findSubject(scene, id)?.card ?? id);
              }}
              onLeave={actions.onLeave}
            >
              {children}
            </GraphTools>
            <Legend links={scene.links} />
          </section>
          {listed && <GraphTree scene={listed} facts={facts} onSelect={actions.onSelect} />}
          <Suspense fallback={null}>{listed && <PrintedScene scene={worded} />}</Suspense>
          <Suspense fallback={null}>
            <Details {...props} scene={scene} subject={subject} link={link} onEnter={actions.onEnter} onClose={close} />
          </Suspense>
        </div>
      </GraphContext>
    </PathContext>
  );
}

/** A scene whose captions name the states of last runs, for files and paper. */
function withStateWords(scene: Scene, facts: ReadonlyMap<string, NodeFacts>): Scene {
  const cards = scene.cards.map((card) => {
    const words = stateWordsOf(facts.get(card.id));
    return words.length > 0 ? { ...card, caption: [...words, card.caption].join(' · ') } : card;
  });
  return { ...scene, cards };
}

function findSelection(
  scene: Scene,
  id: string | undefined,
): { subject?: Subject | undefined; link?: SceneLink | undefined } {
  if (id === undefined) return {};
  const subject = findSubject(scene, id);
  return subject ? { subject } : { link: findLink(scene, id) };
}

/** The card that the window shows if the full drawing is not readable. */
function findMiddle({ cards }: Scene, id: string | undefined): SceneCard | undefined {
  return cards.find((card) => card.id === id) ?? cards.find(({ isFocus }) => isFocus);
}

interface DetailsProps extends Pick<LineageGraphProps, 'view' | 'trace'> {
  scene: Scene;
  subject: Subject | undefined;
  link: SceneLink | undefined;
  onEnter: GraphActions['onEnter'];
  onClose: () => void;
}

function Details({ scene, subject, link, view, trace, onEnter, onClose }: DetailsProps) {
  useEffect(() => preloadLater(DetailPanel, LinkPanel), []);
  if (subject) return <DetailPanel key={subject.id} {...{ subject, scene, view, trace, onClose }} />;
  return link && <LinkPanel key={link.id} {...{ link, scene, view, onEnter, onClose }} />;
}

interface ActionInput extends Pick<GraphActions, 'facts' | 'onHover'> {
  /** Called with the card that keeps its place while the drawing changes. */
  onAnchor: (id: string) => void;
}

function useActions(props: LineageGraphProps, open: ReadonlySet<string>, input: ActionInput): GraphActions {
  const { state = NO_STATE, onState, onGrow, onEnter, onLeave, onMask, onBetween, draft } = props;
  const { facts, onHover, onAnchor } = input;
  const at =
    <Rest extends unknown[]>(action: (id: string, ...rest: Rest) => void) =>
    (id: string, ...rest: Rest) => {
      onAnchor(id);
      action(id, ...rest);
    };
  return {
    selected: state.selected,
    facts,
    onHover,
    onSelect: (id) => onState(withSelection(state, id === state.selected ? undefined : id)),
    onToggle: at((id) => {
      const { open: _, ...rest } = state;
      const next = open.has(id) ? [...open].filter((other) => other !== id) : [...open, id];
      onState(next.length > 0 ? { ...rest, open: next } : rest);
    }),
    onGrow: onGrow && at(onGrow),
    onEnter: onEnter && at(onEnter),
    onMask,
    onBetween,
    onLeave: onLeave && at((id) => onLeave(new Set([id, ...contentOf(draft, id)]))),
  };
}

/** Ids of the cards inside a box, at any depth. */
function contentOf({ cards }: Draft, id: string): string[] {
  const inside = new Set([id]);
  for (const box of inside) for (const card of cards) if (card.parent === box) inside.add(card.id); // the loop also visits new members
  return [...inside];
}

function withSelection({ selected: _, ...state }: GraphState, id: string | undefined): GraphState {
  return id === undefined ? state : { ...state, selected: id };
}

/** Highlight the path through a card, a column or a link. */
function useHighlight(
  scene: Scene,
  id: string | undefined,
  show: (path: ReadonlySet<string> | undefined) => void,
): void {
  useEffect(() => {
    const { subject, link } = findSelection(scene, id);
    const direct = scene.links.filter(({ isIndirect }) => !isIndirect);
    if (subject) {
      const path = pathOfEnds(direct, subject.ends, subject.hasColumnPath);
      show(path.add(subject.card));
    } else show(link && new Set([link.id, link.src, link.dst, link.srcCard, link.dstCard]));
  }, [scene, id, show]);
}
