/** Blocks and consumers of the development world: each dataset that a job writes has 23 blocks, and one reader that is two behind. */
import { JOBS, NODES } from './world.ts';

const BLOCKS = 23;
const at = (sequence: number) => new Date(Date.UTC(2026, 1, 3, 9, sequence)).toISOString();

function block(dataset: string, sequence: number) {
  const isBase = sequence === 1;
  return {
    sequence,
    version: `version:${dataset.slice('dataset:'.length)}:${sequence}`,
    run: `run:0199a6f0-7c1e-7000-8000-${String(sequence).padStart(12, '0')}`,
    writtenAt: at(sequence),
    mode: isBase ? 'BASE' : 'DELTA',
    snapshot: null,
    files: 1,
    rows: isBase ? 1741 : 24,
    bytes: isBase ? 184_320 : 4096,
    hasRecords: sequence !== 2,
  };
}

export const versionQuery = {
  blocks: (_: unknown, { dataset, first, before }: { dataset: string; first: number; before?: number | null }) => {
    const total = JOBS.some((job) => job.outputId === dataset) ? BLOCKS : 0;
    const top = Math.min(total, (before ?? total + 1) - 1);
    const blocks = Array.from({ length: Math.min(first, top) }, (_, index) => block(dataset, top - index));
    const last = blocks.at(-1)?.sequence ?? 1;
    return { blocks, total, before: last > 1 ? last : null };
  },
  consumers: (_: unknown, { dataset }: { dataset: string }) =>
    JOBS.filter((job) => job.inputIds.includes(dataset)).map((job, index) => ({
      job: NODES.find(({ id }) => id === job.id),
      run: job.run,
      mode: index === 0 ? 'NEW' : 'ALL',
      cursor: index === 0 ? BLOCKS - 2 : BLOCKS,
      isInferred: index > 0,
      unreadBlocks: index === 0 ? 2 : 0,
      unreadRows: index === 0 ? 48 : 0,
      unreadSince: index === 0 ? at(BLOCKS - 1) : null,
    })),
};
