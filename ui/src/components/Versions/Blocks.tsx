import { useInfiniteQuery } from '@tanstack/react-query';
import { type BlockMode, BlocksDocument, type BlocksQuery } from '../../api/generated/first/graphql';
import { keyOf } from '../../api/query';
import { request } from '../../api/request';
import { bytesText } from '../../facts/size';
import { HOME } from '../../location/location';
import styles from '../../styles/sections.module.css';
import { Badge, type Tone } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

type Block = BlocksQuery['blocks']['blocks'][number];

const PAGE_SIZE = 20;
const MODE: Record<BlockMode, { tone: Tone; title: string }> = {
  BASE: { tone: 'accent', title: 'The block replaced the dataset.' },
  DELTA: { tone: 'plain', title: 'The block added to the dataset or changed it.' },
  UNKNOWN: { tone: 'warn', title: 'No report says whether the block replaced the dataset.' },
};

/** The blocks of a dataset: the output of each run. */
export function Blocks({ dataset }: { dataset: string }) {
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: [...keyOf(BlocksDocument), dataset],
    queryFn: ({ pageParam, signal }) =>
      request(BlocksDocument, { dataset, first: PAGE_SIZE, before: pageParam }, signal),
    initialPageParam: null as number | null,
    getNextPageParam: ({ blocks }) => blocks.before,
  });
  const blocks = data?.pages.flatMap((page) => page.blocks.blocks) ?? [];
  return (
    <section className={styles.section} aria-labelledby="blocks">
      <h2 id="blocks">Blocks</h2>
      <p className={styles.lead}>
        A block is the output of one run. A base replaces the dataset, and a delta changes it.
      </p>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the blocks" rows={4} />}
      {data && blocks.length === 0 && <p className={styles.lead}>No known run wrote this dataset.</p>}
      {blocks.length > 0 && (
        <Table
          label="Blocks, the latest first"
          titles={['Number', 'Mode', 'Written', 'Rows', 'Files', 'Size', 'Lineage', 'Run', 'Snapshot']}
          rows={blocks.map((block) => ({ key: `${block.sequence}`, cells: cellsOf(block) }))}
        />
      )}
      {hasNextPage && (
        <p className={styles.actions}>
          <button type="button" disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
            Older blocks
          </button>
        </p>
      )}
    </section>
  );
}

function cellsOf({ sequence, mode, writtenAt, rows, files, bytes, hasRecords, run, snapshot }: Block) {
  return [
    sequence,
    <Badge key="mode" tone={MODE[mode].tone} title={MODE[mode].title}>
      {mode.toLowerCase()}
    </Badge>,
    <Instant key="written" at={writtenAt} />,
    rows?.toLocaleString('en') ?? 'unknown',
    files?.toLocaleString('en') ?? 'unknown',
    bytes === null ? 'unknown' : bytesText(bytes),
    hasRecords ? 'records' : 'dataset only',
    <Link key="run" to={{ ...HOME, page: 'run', item: run }} title={run}>
      {`…${run.slice(-6)}`}
    </Link>,
    snapshot,
  ];
}
