import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { type GroupBy, groupDatasets } from '../../graph/groups';
import { useDatasets } from '../../hooks/useDatasets';
import { useFocusKey } from '../../hooks/useFocusKey';
import { DatasetTable } from '../DatasetTable/DatasetTable';
import { EmptyState } from '../EmptyState/EmptyState';
import { Icon } from '../Icon/Icon';
import { ErrorNote, Note } from '../Note/Note';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import styles from './HomePage.module.css';

const GROUPS = [
  { value: 'pipeline', label: 'By pipeline', title: 'By the pipeline that writes the dataset' },
  { value: 'platform', label: 'By platform', title: 'By the platform that stores the dataset' },
] as const;

/** The start page: the datasets, and a search for one. */
export function HomePage() {
  const [text, setText] = useState('');
  const [groupBy, setGroupBy] = useState<GroupBy>('pipeline');
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const { data, error, isPending, refetch } = useDatasets(text);
  const isLoading = isPending || data?.text !== text.trim();
  const [isEntered, setEntered] = useState(false);
  useFocusKey('/', input);

  // Enter opens the first dataset of the text in the field, not of the text before.
  useEffect(() => {
    if (!isEntered || isLoading) return;
    setEntered(false);
    list.current?.querySelector<HTMLAnchorElement>('a[data-row]')?.click();
  }, [isEntered, isLoading]);

  if (data?.total === 0 && data.text === '' && text === '') return <EmptyState />;

  const onKeyDown = (event: KeyboardEvent) => {
    const links = [...(list.current?.querySelectorAll<HTMLAnchorElement>('a[data-row]') ?? [])];
    if (event.key === 'Enter' && event.target === input.current) setEntered(true);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const index = links.findIndex((link) => link.isSameNode(document.activeElement)) + step;
    if (index < 0) input.current?.focus();
    else links[Math.min(index, links.length - 1)]?.focus();
  };

  return (
    // The keys move the focus between the links. The area has no function of its own.
    // biome-ignore lint/a11y/noStaticElementInteractions: see above
    <div className={styles.page} onKeyDown={onKeyDown}>
      <h1 className={styles.title}>Where did this data come from?</h1>
      <p className={styles.lead}>
        Open a dataset and click a value to see the records behind it, through all jobs between.
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
            onChange={(event) => {
              setText(event.target.value);
              setEntered(false);
            }}
          />
          <kbd>/</kbd>
        </label>
        <SegmentedControl label="Group the datasets" options={GROUPS} value={groupBy} onChange={setGroupBy} />
      </div>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the datasets" rows={9} />}
      {data?.total === 0 && !isLoading && (
        <Note>No name of a dataset contains “{data.text}”. A part of the path is enough.</Note>
      )}
      {data && (
        <div ref={list} aria-busy={isLoading} className={isLoading ? styles.loading : undefined}>
          <DatasetTable groups={groupDatasets(data.datasets, groupBy)} />
        </div>
      )}
      {data && !isLoading && data.total > data.datasets.length && (
        <p className={styles.cut}>
          These are the first {data.datasets.length} of {data.total.toLocaleString('en')} datasets. Type more of the
          name to see the others.
        </p>
      )}
    </div>
  );
}
