import { datasetOfColumn, parseId } from './ids';
import { baseName, jobWords, pathOf, shortNames } from './names';
import { MAX_CARDS } from './neighbourhood';
import type { Card, Draft } from './scene';
import { type GraphNode, isData } from './types';

/** A visible node in the service's answer. */
export interface ViewNode {
  node: Pick<GraphNode, 'id' | 'kind' | 'name'> & {
    containers: readonly Pick<GraphNode, 'kind' | 'name'>[];
    unwritten?: boolean;
  };
  members: number;
  focus: boolean;
  wholly: boolean;
}

/** A link between visible nodes in the service's answer. `via` counts the hidden nodes on it; null means that there are many. */
export interface ViewLink {
  src: string;
  dst: string;
  weight: number;
  direct: boolean;
  via: number | null;
}

/** The first `max` cards of a view, and the number of `nodes` that they show. The columns of a dataset share one card. */
export function draftOfView(
  nodes: readonly ViewNode[],
  links: readonly ViewLink[],
  max = MAX_CARDS,
): Draft & { nodes: number } {
  const cards = makeCards(nodes).slice(0, max);
  const ids = new Set(cards.map(({ id }) => id));
  return {
    cards,
    links: links.map((link) => ({
      id: `${link.src}→${link.dst}`,
      src: link.src,
      dst: link.dst,
      label: labelOf(link),
      isHidden: !link.direct,
    })),
    nodes: nodes.filter(({ node }) => ids.has(node.kind === 'COLUMN' ? datasetOfColumn(node.id) : node.id)).length,
  };
}

function makeCards(nodes: readonly ViewNode[]): Card[] {
  const columns = Map.groupBy(
    nodes.filter(({ node }) => node.kind === 'COLUMN'),
    ({ node }) => datasetOfColumn(node.id),
  );
  const others = nodes.filter(({ node }) => node.kind !== 'COLUMN' && !columns.has(node.id));
  const datasets = [...columns.keys()].map((id) => [id, pathOf(id)] as const);
  const named = others.filter(({ node }) => node.kind === 'PLATFORM' || node.kind === 'DATASET');
  const titles = shortNames([...named.map(({ node }) => [node.id, node.name] as const), ...datasets]);
  return [
    ...datasets.map(([id, name]) => columnCard(id, name, titles.get(id) ?? name, columns.get(id) ?? [])),
    ...others.map((each) => nodeCard(each, titles.get(each.node.id))),
  ];
}

function nodeCard({ node, members, focus, wholly }: ViewNode, short: string | undefined): Card {
  const { title, caption } = wordsOf(node);
  return {
    id: node.id,
    kind: node.kind,
    title: short ?? title,
    caption: captionOf(node.unwritten ? `${caption}, not written: its runs failed` : caption, members),
    name: node.name,
    isFocus: focus,
    isMixed: !wholly,
  };
}

function columnCard(id: string, name: string, title: string, columns: readonly ViewNode[]): Card {
  return {
    id,
    kind: 'DATASET',
    title,
    caption: `dataset · ${columns.length} ${columns.length === 1 ? 'column' : 'columns'}`,
    name,
    isFocus: columns.some(({ focus }) => focus),
    isMixed: columns.some(({ wholly }) => !wholly),
    columns: columns.map(({ node }) => node.id),
  };
}

/** Versions, files and runs have no readable name of their own, so the words name their dataset or job. */
function wordsOf({ id, kind, name, containers }: ViewNode['node']): Pick<Card, 'title' | 'caption'> {
  const { parts } = parseId(id);
  const job = containers.find((container) => container.kind === 'JOB')?.name;
  const word = kind.toLowerCase();
  switch (kind) {
    case 'VERSION':
      return { title: baseName(parts[1] ?? name), caption: `version ${shortenRun(name)}` };
    case 'PARTITION': {
      const path = parts[0] ?? name;
      return { title: baseName(path), caption: `file in ${baseName(path.slice(0, path.lastIndexOf('/')))}` };
    }
    case 'RUN':
      return job === undefined ? { title: name, caption: word } : jobWords(job, `run ${shortenRun(name)}`);
    case 'STAGE':
    case 'TASK':
    case 'OPERATOR':
      return { title: name, caption: job === undefined ? word : `${word} of ${jobWords(job, '').title}` };
    default:
      return isData({ kind }) ? { title: name, caption: word } : jobWords(name, word);
  }
}

/** The end of a run's id. Its start is the time, which is the same for all runs of one night. */
function shortenRun(run: string): string {
  return `…${run.slice(-6)}`;
}

/** `platform · 3 inside` */
export function captionOf(word: string, members: number): string {
  return members > 1 ? `${word} · ${members.toLocaleString('en')} inside` : word;
}

export function labelOf({ weight, via }: Pick<ViewLink, 'weight' | 'via'>): string {
  if (via === null) return 'via many';
  if (via > 0) return `via ${via.toLocaleString('en')}`;
  return weight > 1 ? `${weight.toLocaleString('en')} flows` : '';
}
