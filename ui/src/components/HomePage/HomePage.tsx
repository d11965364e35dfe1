import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { failuresFirst } from '../../facts/datasets';
import { type Group, type GroupBy, groupDatasets } from '../../graph/groups';
import { type Chosen, type DatasetList, NOTHING_CHOSEN, useDatasets } from '../../hooks/useDatasets';
import { useFocusKey } from '../../hooks/useFocusKey';
import { HOME } from '../../location/location';
import { DatasetTable } from '../DatasetTable/DatasetTable';
import { EmptyState } from '../EmptyState/EmptyState';
import { FacetBar } from '../FacetBar/FacetBar';
import { Icon } from '../Icon/Icon';
import { Link } from '../Link/Link';
import { ErrorNote, Note } from '../Note/Note';
import { SavedViews } from '../SavedViews/SavedViews';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import styles from './HomePage.module.css';

const GROUPS = [
  { value: 'pipeline', label: 'By pipeline', title: 'By the pipeline that writes the dataset' },
  { value: 'platform', label: 'By platform', title: 'By the platform that stores the dataset' },
] as const;

interface HomePageProps {
  /** The first text of the search. */
  find: string;
}

/** The start page: the datasets, and a search for one. */
export function HomePage({ find }: HomePageProps) {
  const [text, setText] = useState(find);
  const [chosen, setChosen] = useState<Chosen>(NOTHING_CHOSEN);
  const [groupBy, setGroupBy] = useState<GroupBy>('pipeline');
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const { data, error, isPending, refetch, isPlaceholderData, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useDatasets(text, chosen);
  const isLoading = isPending || isPlaceholderData || data?.text !== text.trim();
  const [isEntered, setEntered] = useState(false);
  useFocusKey('/', input);

  // Enter opens the first dataset of the text in the field, not of the text before.
  useEffect(() => {
    if (!isEntered || isLoading) return;
    setEntered(false);
    list.current?.querySelector<HTMLAnchorElement>('a[data-row]')?.click();
  }, [isEntered, isLoading]);

  if (data?.total === 0 && data.text === '' && text === '' && !isLoading && chosen === NOTHING_CHOSEN)
    return <EmptyState />;

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
        Open a dataset and click a value to see the records behind it, through all jobs between. Or see the whole lake
        on a <Link to={{ ...HOME, page: 'map' }}>map</Link>.
      </p>
      <SavedViews />
      <div className={styles.tools}>
        <label className={styles.search}>
          <Icon name="search" />
          <span className="visually-hidden">Find a dataset</span>
          <input
            ref={input}
            type="search"
            placeholder="Find a dataset by its name, path, description, owner or tag"
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
        <Note>
          No dataset is found{data.text && ` for “${data.text}”`}. A part of its name, description, owner or tag is
          enough.
        </Note>
      )}
      {data && <FacetBar facets={data.facets} chosen={chosen} onChange={setChosen} />}
      {data && (
        <div ref={list} aria-busy={isLoading} className={isLoading ? styles.loading : undefined}>
          <DatasetTable
            groups={failuresFirst(groupDatasets(data.datasets, groupBy))}
            count={(group) => countOf(group, data, groupBy)}
          />
        </div>
      )}
      {data && !isLoading && (
        <Rest
          list={data}
          isFetching={isFetchingNextPage}
          onMore={hasNextPage ? () => void fetchNextPage() : undefined}
        />
      )}
    </div>
  );
}

/** The number of datasets in a group, on all pages. A group that the service does not count has the number of those that are loaded. */
function countOf(group: Group<unknown>, data: DatasetList, groupBy: GroupBy): string {
  const facet = data.facets.find(({ name }) => name === (groupBy === 'pipeline' ? 'pipeline' : 'namespace'));
  const value = groupBy === 'pipeline' ? group.key : group.title;
  const counted = facet?.values.find((each) => each.value === value)?.count ?? 0;
  const isWhole = data.total === data.datasets.length;
  const loaded = group.items.length;
  if (isWhole || counted <= loaded) return isWhole || counted === loaded ? `${loaded}` : `${loaded} or more`;
  return `${loaded} of ${counted.toLocaleString('en')}`;
}

interface RestProps {
  list: DatasetList;
  isFetching: boolean;
  onMore: (() => void) | undefined;
}

/** The number of datasets that are not loaded yet, and the way to them. */
function Rest({ list: { datasets, total, counted, isCut }, isFetching, onMore }: RestProps) {
  if (total <= datasets.length) return null;
  return (
    <p className={styles.cut}>
      These are {datasets.length.toLocaleString('en')} of {!counted && 'at least '}
      {total.toLocaleString('en')} datasets.{' '}
      {onMore && (
        <button type="button" onClick={onMore} disabled={isFetching}>
          {isFetching ? 'Loading …' : 'Show more'}
        </button>
      )}
      {!onMore && isCut && 'Only the best are put in order: add a word, or choose a value above.'}
    </p>
  );
}
