import { useReactFlow } from '@xyflow/react';
import { type FormEvent, type ReactNode, type RefObject, useState } from 'react';
import type { Side } from '../../graph/neighbourhood';
import type { Scene, SceneCard } from '../../graph/scene';
import { atStop, STOPS, stopOf, stopWords } from '../../graph/zoom';
import type { GraphState } from '../../location/location';
import { Icon, type IconName } from '../Icon/Icon';
import styles from './GraphTools.module.css';
import type { LineageGraphProps } from './LineageGraph';

interface GraphToolsProps extends Pick<LineageGraphProps, 'levels' | 'onLevels' | 'steps' | 'onSteps' | 'onState'> {
  /** The element of the controls, which may need several lines. */
  bar: RefObject<HTMLDivElement | null>;
  scene: Scene;
  state: GraphState;
  onFit: () => void;
  /** Select a card, and show it. */
  onFind: (id: string) => void;
  onLeave: ((id: string) => void) | undefined;
  children?: ReactNode;
}

const ZOOM_MS = 140;

/** The controls on top of the drawing: search, level, depth, boxes, zoom and size. */
export function GraphTools(props: GraphToolsProps) {
  const { bar, scene, state, onState, onFit, onFind, onLeave, levels, onLevels, steps, onSteps, children } = props;
  const { zoomIn, zoomOut } = useReactFlow();
  const { isLarge, ...small } = state;
  return (
    <>
      <div ref={bar} className={styles.bar}>
        {children}
        <Find scene={scene} onFind={onFind} />
        {levels && onLevels && (
          <label className={styles.level} title="From whole platforms to single files">
            <span>Level</span>
            <input
              type="range"
              min={0}
              max={STOPS.length - 1}
              step={1}
              value={stopOf(levels)}
              aria-label="Level of the drawing"
              aria-valuetext={stopWords(levels)}
              onChange={(event) => onLevels(atStop(levels, Number(event.target.value)))}
            />
            <output>{stopWords(levels)}</output>
          </label>
        )}
        {levels && (
          <span className={styles.depth}>
            <Steps
              side="before"
              hops={steps?.before}
              onChange={(before) => onSteps(withSteps(steps, 'before', before))}
            />
            <Steps side="after" hops={steps?.after} onChange={(after) => onSteps(withSteps(steps, 'after', after))} />
          </span>
        )}
        <div className={styles.zoom}>
          <Tool icon="zoomIn" label="Zoom In" onClick={() => zoomIn({ duration: ZOOM_MS })} />
          <Tool icon="zoomOut" label="Zoom Out" onClick={() => zoomOut({ duration: ZOOM_MS })} />
          <Tool icon="whole" label="Show the whole" onClick={onFit} />
          <Tool
            icon="large"
            label={isLarge ? 'Back to the page' : 'Fill the window'}
            isPressed={isLarge ?? false}
            onClick={() => onState(isLarge ? small : { ...state, isLarge: true })}
          />
        </div>
      </div>
      <Boxes scene={scene} selected={state.selected} onFind={onFind} onLeave={onLeave} />
    </>
  );
}

interface ToolProps {
  icon: IconName;
  label: string;
  isPressed?: boolean;
  onClick: () => void;
}

function Tool({ icon, label, isPressed, onClick }: ToolProps) {
  return (
    <button type="button" title={label} aria-label={label} aria-pressed={isPressed} onClick={onClick}>
      <Icon name={icon} size={14} />
    </button>
  );
}

const MATCHES = 8;

/** Find a card or a column in the drawing. Enter goes to the first match. */
function Find({ scene, onFind }: Pick<GraphToolsProps, 'scene' | 'onFind'>) {
  const [text, setText] = useState('');
  const matches = text.trim() ? findCards(scene, text.trim().toLowerCase()) : [];
  const select = (id: string) => {
    setText('');
    onFind(id);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const [first] = matches;
    if (first) select(first.id);
  };
  return (
    <form className={styles.find} onSubmit={submit}>
      <Icon name="search" size={13} />
      <input
        type="text"
        placeholder="Find in the graph"
        aria-label="Find in the graph"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && setText('')}
      />
      {text.trim() && (
        <ul className={styles.matches} aria-live="polite">
          {matches.slice(0, MATCHES).map(({ id, title, caption }) => (
            <li key={id}>
              <button type="button" onClick={() => select(id)}>
                <b>{title}</b> <small>{caption}</small>
              </button>
            </li>
          ))}
          {matches.length > MATCHES && <li>and {matches.length - MATCHES} more</li>}
          {matches.length === 0 && <li>Nothing in the drawing contains this text.</li>}
        </ul>
      )}
    </form>
  );
}

type Match = Pick<SceneCard, 'id' | 'title' | 'caption'>;

/** Cards and columns that contain a text. Names that are or begin with the text come first. */
function findCards({ cards }: Scene, text: string): Match[] {
  const matches = cards.flatMap((card): Match[] => [
    ...(card.name.toLowerCase().includes(text) || card.title.toLowerCase().includes(text) ? [card] : []),
    ...(card.content === 'operations' ? [] : card.lines)
      .filter((line) => line.text.toLowerCase().includes(text))
      .map((line) => ({ id: line.key, title: line.text, caption: `column of ${card.title}` })),
  ]);
  return matches.sort((a, b) => rankOf(a, text) - rankOf(b, text));
}

function rankOf({ title }: Match, text: string): number {
  const name = title.toLowerCase();
  if (name === text) return 0;
  return name.startsWith(text) ? 1 : 2;
}

const HOPS = [1, 2, 3, 5] as const;

interface StepsProps {
  side: Side;
  hops: number | undefined;
  onChange: (hops: number | undefined) => void;
}

/** The depth on one side, in datasets. */
function Steps({ side, hops, onChange }: StepsProps) {
  const word = side === 'before' ? 'upstream' : 'downstream';
  return (
    <label title={`How many datasets are drawn ${word}`}>
      {side === 'before' ? '‹' : '›'}
      <select
        aria-label={`Depth ${word}`}
        value={hops === undefined ? '' : hops / 2}
        onChange={(event) => onChange(event.target.value === '' ? undefined : 2 * Number(event.target.value))}
      >
        <option value="">all</option>
        <option value="0">none</option>
        {HOPS.map((count) => (
          <option key={count} value={count}>
            {count}
          </option>
        ))}
        {hops !== undefined && hops > 0 && !HOPS.some((count) => count === hops / 2) && (
          <option value={hops / 2}>{hops / 2}</option>
        )}
      </select>
    </label>
  );
}

function withSteps(steps: LineageGraphProps['steps'], side: Side, hops: number | undefined) {
  const { [side]: _, ...rest } = steps ?? {};
  return hops === undefined ? rest : { ...rest, [side]: hops };
}

/** The boxes around the selected card, or all open boxes: a click shows a box, the cross closes it. */
function Boxes({
  scene,
  selected,
  onFind,
  onLeave,
}: Pick<GraphToolsProps, 'scene' | 'onFind' | 'onLeave'> & { selected: string | undefined }) {
  const byId = new Map(scene.cards.map((card) => [card.id, card]));
  const innermost = selected === undefined ? undefined : byId.get(selected);
  const last = innermost ?? scene.cards.findLast(({ isBox }) => isBox);
  const chain: SceneCard[] = [];
  for (let at = last; at; at = byId.get(at.parent ?? '')) if (at.isBox) chain.unshift(at);
  if (chain.length === 0 || !onLeave) return null;
  return (
    <nav className={styles.boxes} aria-label="Open boxes">
      <button type="button" onClick={() => onLeave(chain[0]?.id ?? '')}>
        All
      </button>
      {chain.map(({ id, title }) => (
        <span key={id}>
          ›{' '}
          <button type="button" onClick={() => onFind(id)}>
            {title}
          </button>
        </span>
      ))}
    </nav>
  );
}
