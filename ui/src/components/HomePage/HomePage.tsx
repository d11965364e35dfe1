import { type KeyboardEvent, useRef, useState } from 'react';
import { type GroupBy, groupDatasets } from '../../graph/groups';
import { useDatasets } from '../../hooks/useDatasets';
import { useFocusKey } from '../../hooks/useFocusKey';
import { DatasetTable } from '../DatasetTable/DatasetTable';
import { EmptyState } from '../EmptyState/EmptyState';
import { Icon } from '../Icon/Icon';
import { ErrorNote, Note } from '../Note/Note';
import { ReplayList } from '../ReplayList/ReplayList';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import styles from './HomePage.module.css';

const GROUPS = [
  { value: 'pipeline', label: 'By pipeline', title: 'What wrote it' },
  { value: 'platform', label: 'By platform', title: 'Where it lies' },
] as const;

/** Where everything begins: find a dataset. */
export function HomePage() {
  const [text, setText] = useState('');
  const [groupBy, setGroupBy] = useState<GroupBy>('pipeline');
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const { data, error, isPending, refetch } = useDatasets(text);
  useFocusKey('/', input);

  if (data?.total === 0 && text === '') return <EmptyState />;

  const onKeyDown = (event: KeyboardEvent) => {
    const links = [...(list.current?.querySelectorAll<HTMLAnchorElement>('a[data-row]') ?? [])];
    if (event.key === 'Enter' && event.target === input.current) links[0]?.click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const index = links.findIndex((link) => link.isSameNode(document.activeElement)) + step;
    if (index < 0) input.current?.focus();
    else links[Math.min(index, links.length - 1)]?.focus();
  };

  return (
    // The keys move the focus among elements that have their own; the area itself is not operated.
    // biome-ignore lint/a11y/noStaticElementInteractions: see above
    <div className={styles.page} onKeyDown={onKeyDown}>
      <h1 className={styles.title}>Where did this data come from?</h1>
      <p className={styles.lead}>
        Open a dataset, click a value in it, and see the records that it was made of, through every job between.
      </p>
      <div className={styles.tools}>
        <label className={styles.search}>
          <Icon name="search" />
          <span className="visually-hidden">Find a dataset</span>
          <input
            ref={input}
            type="search"
            placeholder="Find a dataset by its name or path"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <kbd>/</kbd>
        </label>
        <SegmentedControl label="Group the datasets" options={GROUPS} value={groupBy} onChange={setGroupBy} />
      </div>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the datasets" rows={9} />}
      {data?.total === 0 && <Note>No dataset’s name holds “{text}”. A part of its path is enough.</Note>}
      {data && (
        <div ref={list}>
          <DatasetTable groups={groupDatasets(data.datasets, groupBy)} />
        </div>
      )}
      {data && data.total > data.datasets.length && (
        <p className={styles.cut}>
          The first {data.datasets.length} of {data.total.toLocaleString('en')} datasets. Write more of the name to see
          the others.
        </p>
      )}
      <ReplayList />
    </div>
  );
}
