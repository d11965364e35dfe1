/** The words, marks and states of the cards and links of a drawing: one form for lineages, traces and views. */
import type { Flow, FlowLink, FlowNode } from './flow';
import { parseId } from './ids';
import { baseName, jobWords, shortNames } from './names';
import type { Neighbours } from './neighbourhood';
import type { Highlight } from './path';
import { shortFile } from './records';
import type { Card, Draft, State } from './scene';
import { isData } from './types';

export interface DraftOptions {
  /** Id of the node that the page shows. A view marks its own focus. */
  focus?: string;
  /** The path of a trace. Without it, no card is dim. */
  highlight?: Highlight | undefined;
  /** Captions of datasets by their id: the number of records in the trace. */
  captions?: ReadonlyMap<string, string>;
  neighbours?: ReadonlyMap<string, Neighbours>;
}

export function makeDraft(flow: Flow, { focus, highlight, captions, neighbours }: DraftOptions = {}): Draft {
  const named = flow.nodes.filter(({ kind }) => kind === 'PLATFORM' || kind === 'DATASET');
  const titles = shortNames(named.map(({ id, name }) => [id, name]));
  const stateOf = (id: string, ids: ReadonlySet<string> | undefined): { state: State; isCoarse: boolean } => ({
    state: ids === undefined ? 'plain' : ids.has(id) ? 'traced' : 'dim',
    isCoarse: highlight?.coarse.has(id) ?? false,
  });
  const parents = new Set(flow.nodes.flatMap(({ parent }) => parent ?? []));
  const ids = new Set(flow.nodes.map(({ id }) => id));
  const cards = flow.nodes.map((node): Card => {
    const { id, kind, name, columns, parent, isMixed, cut, change } = node;
    const state = stateOf(id, highlight?.nodes);
    const { title, caption } = wordsOf(node, state.isCoarse);
    return {
      id,
      kind,
      name,
      title: titles.get(id) ?? title,
      caption: [change, captions?.get(id) ?? caption].filter(Boolean).join(' · '),
      isFocus: node.isFocus ?? id === focus,
      isBox: parents.has(id),
      ...state,
      ...(columns && { columns }),
      ...(parent !== undefined && ids.has(parent) && { parent }),
      ...(isMixed !== undefined && { isMixed }),
      ...(cut && (cut.before || cut.after) && { cut }),
      ...(change && { change }),
    };
  });
  const links = flow.links.map((link) => ({
    id: link.id,
    src: link.src,
    dst: link.dst,
    isHidden: link.isHidden ?? false,
    isFormer: link.isFormer ?? false,
    weight: link.weight ?? 1,
    ...(link.change && { change: link.change }),
    label: [link.change, link.isFormer && 'former', labelOf(link)].filter(Boolean).join(', '),
    ...stateOf(link.id, highlight?.links),
  }));
  return { cards, links, ...(neighbours && { neighbours }) };
}

/** Versions, files and runs have no readable name of their own, so the words name their dataset or job. */
function wordsOf({ id, kind, name, containers = [], members = 1, columns, isUnwritten }: FlowNode, isCoarse: boolean) {
  const { parts } = parseId(id);
  const job = containers.find((container) => container.kind === 'JOB')?.name;
  const word = kind.toLowerCase();
  const count = (text: string) => captionOf(text, members);
  switch (kind) {
    case 'VERSION':
      return { title: baseName(parts[1] ?? name), caption: count(`version ${shortenRun(name)}`) };
    case 'PARTITION': {
      const path = parts[0] ?? name;
      return {
        title: shortFile(baseName(path)),
        caption: count(`file in ${baseName(path.slice(0, path.lastIndexOf('/')))}`),
      };
    }
    case 'RUN':
      return job === undefined ? { title: name, caption: count(word) } : jobWords(job, `run ${shortenRun(name)}`);
    case 'STAGE':
    case 'TASK':
    case 'OPERATOR':
      return { title: name, caption: count(job === undefined ? word : `${word} of ${jobWords(job, '').title}`) };
    case 'DATASET':
      return { title: name, caption: count(datasetWords(columns?.length, isUnwritten)) };
    default:
      if (isData({ kind })) return { title: name, caption: count(word) };
      return jobWords(name, count(isCoarse ? `${word}, by dataset only` : word));
  }
}

function datasetWords(columns: number | undefined, isUnwritten = false): string {
  if (columns !== undefined) return `dataset · ${columns} ${columns === 1 ? 'column' : 'columns'}`;
  return isUnwritten ? 'dataset, not written: its runs failed' : 'dataset';
}

/** The end of a run's id. Its start is the time, which is the same for all runs of one night. */
function shortenRun(run: string): string {
  return `…${run.slice(-6)}`;
}

/** `platform · 3 inside` */
export function captionOf(word: string, members: number): string {
  return members > 1 ? `${word} · ${members.toLocaleString('en')} inside` : word;
}

export function labelOf({ weight = 1, via = 0 }: Pick<FlowLink, 'weight' | 'via'>): string {
  if (via === null) return 'via many';
  if (via > 0) return `via ${via.toLocaleString('en')}`;
  return weight > 1 ? `${weight.toLocaleString('en')} flows` : '';
}
