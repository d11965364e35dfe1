import type { Point } from '../../graph/boxes';
import { loopBelow, pathThrough } from '../../graph/route';
import {
  anchorsOf,
  HEAD_HEIGHT,
  isColumnLink,
  LINE_HEIGHT,
  type Scene,
  type SceneCard,
  type SceneLink,
} from '../../graph/scene';
import { isData } from '../../graph/types';
import { PAD, type Slice } from './slices';

interface SceneSvgProps {
  scene: Scene;
  /** Lines above the drawing: the question, its time, and what is missing. The first is the title. */
  heading?: readonly string[] | undefined;
  /** The part of the width to show. The default is the whole. */
  slice?: Slice | undefined;
}

/** Colours of paper. A file has no style sheet, so each element has its own. */
const INK = '#15211f';
const SOFT = '#4a5a58';
const LINE = '#b9c6c6';
const ACCENT = '#0b6a70';
const WARN = '#8a5300';
const MARK = '#d39b16';
const CHANGES = {
  added: { colour: '#1a6b3c', width: 3, dash: undefined },
  gone: { colour: '#a72a24', width: 2, dash: '0.1 5' },
  changed: { colour: ACCENT, width: 2, dash: '8 3 1.5 3' },
} as const;

const FRAME_DASHES = { added: undefined, gone: '2 3', changed: '5 3' } as const;

const HEADING = 18;
const FONT = '"Inter Variable", Inter, system-ui, sans-serif';
/** Room for a title in a card, in characters of the usual width. */
const CHARACTER = 7.2;

/** A scene as a picture that needs nothing else: the whole drawing, also the part outside of the window. */
export function SceneSvg({ scene, heading = [], slice }: SceneSvgProps) {
  const top = heading.length === 0 ? PAD : PAD + heading.length * HEADING + 12;
  const longest = Math.max(0, ...heading.map((line) => line.length * CHARACTER));
  const loops = scene.links.some((link) => isBackward(scene, link)) ? 60 : 0;
  const width = slice ? slice.to - slice.from : Math.max(scene.width, longest) + 2 * PAD;
  const height = scene.height + top + PAD + loops;
  const cards = new Map(scene.cards.map((card) => [card.id, card]));
  // A box is below the cards inside it.
  const drawn = [...scene.cards.filter(({ isBox }) => isBox), ...scene.cards.filter(({ isBox }) => !isBox)];
  return (
    <svg
      viewBox={`${slice?.from ?? 0} 0 ${width} ${height}`}
      width={width}
      height={height}
      fontFamily={FONT}
      fontSize={12}
      role="img"
      aria-label={heading[0] ?? 'Lineage'}
    >
      <rect x={slice?.from ?? 0} width={width} height={height} fill="#ffffff" />
      {heading.map((line, index) => (
        <text
          key={line}
          x={PAD}
          y={PAD + index * HEADING}
          fill={index === 0 ? INK : SOFT}
          fontWeight={index === 0 ? 600 : 400}
        >
          {line}
        </text>
      ))}
      <g transform={`translate(${PAD} ${top})`}>
        {drawn
          .filter(({ isBox }) => isBox)
          .map((card) => (
            <CardShape key={card.id} card={card} />
          ))}
        {scene.links.map((link) => (
          <LinkShape key={link.id} link={link} cards={cards} />
        ))}
        {drawn
          .filter(({ isBox }) => !isBox)
          .map((card) => (
            <CardShape key={card.id} card={card} />
          ))}
      </g>
    </svg>
  );
}

function CardShape({ card }: { card: SceneCard }) {
  const { x, y, width, height, title, caption, name, change, state } = card;
  const room = (width - 24) / CHARACTER;
  return (
    <g opacity={state === 'dim' ? 0.5 : 1}>
      <title>{`${name}, ${caption}`}</title>
      <rect x={x} y={y} width={width} height={height} {...frameOf(card)} />
      <text
        x={x + 12}
        y={y + 20}
        fill={INK}
        fontWeight={600}
        textDecoration={change === 'gone' ? 'line-through' : undefined}
      >
        {shorten(title, room)}
      </text>
      <text x={x + 12} y={y + 36} fill={SOFT} fontSize={10}>
        {shorten(caption, room * 1.2)}
      </text>
      {card.lines.map(({ key, text, isTraced }, index) => (
        <text
          key={key}
          x={x + 12}
          y={y + HEAD_HEIGHT + 16 + index * LINE_HEIGHT}
          fill={INK}
          fontSize={11}
          fontWeight={isTraced ? 600 : 400}
        >
          {shorten(text, room)}
        </text>
      ))}
      {card.rest > 0 && (
        <text x={x + 12} y={y + HEAD_HEIGHT + 16 + card.lines.length * LINE_HEIGHT} fill={SOFT} fontSize={10}>
          and {card.rest} more
        </text>
      )}
    </g>
  );
}

function frameOf(card: SceneCard) {
  const { isBox, isFocus, isCoarse, change, state } = card;
  const isMarked = isFocus || state === 'traced';
  const plain = { stroke: isMarked ? ACCENT : isCoarse ? WARN : LINE, strokeDasharray: isCoarse ? '5 3' : undefined };
  const changed = change && { stroke: CHANGES[change].colour, strokeDasharray: FRAME_DASHES[change] };
  return {
    rx: isData(card) ? 8 : 20,
    fill: isBox ? '#f5f7f7' : isData(card) ? '#ffffff' : '#eef2f2',
    strokeWidth: isFocus || change === 'added' ? 2.5 : 1,
    ...(changed ?? plain),
  };
}

function LinkShape({ link, cards }: { link: SceneLink; cards: ReadonlyMap<string, SceneCard> }) {
  const [from, to] = [cards.get(link.srcCard), cards.get(link.dstCard)];
  if (!from || !to) return null;
  const start = { x: from.x + from.width, y: from.y + anchorY(from, link.src) };
  const end = { x: to.x, y: to.y + anchorY(to, link.dst) };
  const { path, label } = end.x < start.x ? loopBelow(start, end) : pathThrough(start, link.route ?? [], end);
  const { colour, width, dash } = strokeOf(link);
  return (
    <g opacity={link.state === 'dim' ? 0.5 : 1}>
      <path d={path} fill="none" stroke={colour} strokeWidth={width} strokeDasharray={dash} strokeLinecap="round" />
      {link.label && !isColumnLink(link) && <Label at={label} text={link.label} />}
    </g>
  );
}

function Label({ at: { x, y }, text }: { at: Point; text: string }) {
  const width = text.length * 5.4 + 8;
  return (
    <>
      <rect x={x - width / 2} y={y - 8} width={width} height={15} rx={5} fill="#ffffff" />
      <text x={x} y={y + 3} textAnchor="middle" fill={SOFT} fontSize={10}>
        {text}
      </text>
    </>
  );
}

function strokeOf(link: SceneLink): { colour: string; width: number; dash: string | undefined } {
  if (link.change) return CHANGES[link.change];
  const colour = link.isCoarse ? WARN : link.state === 'traced' ? (isColumnLink(link) ? MARK : ACCENT) : LINE;
  const dash = link.isFormer || link.isIndirect ? '1.5 4' : link.isCoarse || link.isHidden ? '5 4' : undefined;
  return { colour, width: link.state === 'traced' ? 2 : 1.2, dash };
}

function anchorY(card: SceneCard, end: string): number {
  const id = end === card.id ? '' : end;
  return anchorsOf(card).find((anchor) => anchor.id === id)?.y ?? HEAD_HEIGHT / 2;
}

function isBackward({ cards }: Scene, { srcCard, dstCard }: SceneLink): boolean {
  const [from, to] = [cards.find(({ id }) => id === srcCard), cards.find(({ id }) => id === dstCard)];
  return from !== undefined && to !== undefined && to.x < from.x + from.width;
}

/** A text that is too long loses its middle, because the end of a name distinguishes it best. */
function shorten(text: string, room: number): string {
  const most = Math.max(4, Math.floor(room));
  const characters = [...text];
  if (characters.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${characters.slice(0, most - 1 - end).join('')}…${characters.slice(-end).join('')}`;
}
