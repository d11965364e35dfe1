import { useDeferredValue, useState } from 'react';
import { groupOfMore, REST } from '../../graph/lakeMap';
import { useLakeMap, useMapSearch } from '../../hooks/useLakeMap';
import { amendAddress, navigate } from '../../hooks/useLocation';
import type { GraphState } from '../../location/location';
import {
  addMember,
  closeGroup,
  includeGroup,
  type MapLens,
  type MapState,
  moreGroups,
  moreMembers,
  openGroup,
  WHOLE_LAKE,
} from '../../location/mapState';
import type { PageProps } from '../../pages';
import page from '../../styles/page.module.css';
import { LineageGraph } from '../LineageGraph/LazyGraph';
import { ErrorNote, Note } from '../Note/Note';
import { SegmentedControl } from '../SegmentedControl/SegmentedControl';
import { Skeleton } from '../Skeleton/Skeleton';
import styles from './LakeMap.module.css';

const LENSES = [
  { value: 'NAMESPACE', label: 'Namespaces', title: 'Datasets by the namespace that stores them' },
  { value: 'PIPELINE', label: 'Pipelines', title: 'Jobs by their pipeline' },
  { value: 'OWNER', label: 'Owners', title: 'Datasets by their owners' },
  { value: 'TAG', label: 'Tags', title: 'Datasets by their tags' },
  { value: 'TERM', label: 'Terms', title: 'Datasets by terms of the glossary' },
] as const;
const WORDS: Record<MapLens, [one: string, many: string]> = {
  NAMESPACE: ['namespace', 'namespaces'],
  PIPELINE: ['pipeline', 'pipelines'],
  OWNER: ['owner', 'owners'],
  TAG: ['tag', 'tags'],
  TERM: ['term', 'terms'],
};

/** Width of a window in pixels in which a whole map cannot be read. */
const NARROW = 700;

/** The whole lake: its groups, and the flows between them. */
export function LakeMapPage({ location }: PageProps) {
  const map = location.map ?? WHOLE_LAKE;
  const { answer, isLoading, error, isPending, refetch } = useLakeMap(map);
  const change = (next: MapState) => navigate({ ...location, map: next });
  const onState = (graph: GraphState) => {
    const { selected, ...rest } = graph;
    const group = selected === undefined ? undefined : groupOfMore(selected);
    if (selected === REST) change(moreGroups(map));
    else if (group !== undefined) change(moreMembers(map, group));
    else amendAddress({ ...location, graph: selected === undefined ? rest : graph });
  };
  return (
    <div className={styles.page}>
      <h1 className={page.title}>Map of the lake</h1>
      <div className={styles.tools}>
        <SegmentedControl
          label="Group the lake by"
          options={LENSES}
          value={map.lens}
          onChange={(lens) => navigate({ ...location, map: { ...WHOLE_LAKE, lens }, graph: {} })}
        />
        {answer && <p className={styles.counts}>{wordsOf(map.lens, answer.total, answer.members)}</p>}
      </div>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {isPending && <Skeleton label="Loading the map" rows={6} />}
      {answer?.total === 0 && !isLoading && (
        <Note>
          Nothing in the lake has {map.lens === 'OWNER' ? 'an' : 'a'} {WORDS[map.lens][0]} yet.
        </Note>
      )}
      {answer && answer.total > 0 && (
        <LineageGraph
          key={map.lens}
          draft={answer.draft}
          centre={map.open.at(-1)?.id ?? map.include.at(-1) ?? largestIfNarrow(answer.draft.cards)}
          isLoading={isLoading}
          state={location.graph}
          onState={onState}
          onSteps={() => {}}
          onEnter={(id) => change(openGroup(map, id))}
          onLeave={(ids) => change([...ids].reduce(closeGroup, map))}
        >
          <MapSearch map={map} titles={titlesOf(answer.draft.cards)} onChange={change} />
        </LineageGraph>
      )}
      {answer && <Notes {...answer} lens={map.lens} />}
    </div>
  );
}

/** A narrow window shows the surroundings of the largest group: the whole map would be a line of dots. */
function largestIfNarrow([first]: readonly { id: string }[]): string | undefined {
  return globalThis.innerWidth < NARROW ? first?.id : undefined;
}

function titlesOf(cards: readonly { id: string; title: string }[]): ReadonlyMap<string, string> {
  return new Map(cards.map(({ id, title }) => [id, title]));
}

function wordsOf(lens: MapLens, groups: number, members: number): string {
  const [one, many] = WORDS[lens];
  const inside = `${members.toLocaleString('en')} ${lens === 'PIPELINE' ? 'jobs' : 'datasets'}`;
  return `${groups.toLocaleString('en')} ${groups === 1 ? one : many} · ${inside}`;
}

interface NotesProps {
  lens: MapLens;
  draft: { hidden: number };
  wide: number;
  isAtLeast: boolean;
  withoutFlows: number;
}

/** What the drawing leaves out. */
function Notes({ lens, draft: { hidden }, wide, isAtLeast, withoutFlows }: NotesProps) {
  const hub = lens === 'PIPELINE' ? 'datasets' : 'jobs';
  const notes = [
    hidden > 0 &&
      `The heaviest flows are drawn. ${hidden.toLocaleString('en')} lighter ones are not. Open a group to see those of its members.`,
    wide > 0 && `Left out are flows through ${wide.toLocaleString('en')} of the ${hub}, which join very many groups.`,
    isAtLeast && `Some members have more than 500 ${hub} on one side. The weights of their flows are lower bounds.`,
    withoutFlows > 0 &&
      `The own flows of ${withoutFlows.toLocaleString('en')} drawn members are left out. Close a group to see them.`,
    'All flows that were ever stated count, also former ones.',
  ];
  return <p className={styles.notes}>{notes.filter(Boolean).join(' ')}</p>;
}

interface MapSearchProps {
  map: MapState;
  /** Titles of the drawn cards by id. */
  titles: ReadonlyMap<string, string>;
  onChange: (map: MapState) => void;
}

/** Find a group of the lake, or a member of an open group, and draw it. */
function MapSearch({ map, titles, onChange }: MapSearchProps) {
  const [text, setText] = useState('');
  const [place, setPlace] = useState('');
  const group = map.open.some(({ id }) => id === place) ? place : undefined;
  const words = useDeferredValue(text.trim());
  const { data } = useMapSearch(map.lens, group, words);
  const [, many] = WORDS[map.lens];
  const select = (id: string) => {
    setText('');
    onChange(group === undefined ? includeGroup(map, id) : addMember(map, group, id));
  };
  const hits = words && data ? data.find.hits : [];
  return (
    <div className={styles.search}>
      <select aria-label="Search in" value={group ?? ''} onChange={(event) => setPlace(event.target.value)}>
        <option value="">all {many}</option>
        {map.open.map(({ id }) => (
          <option key={id} value={id}>
            in {titles.get(id) ?? id}
          </option>
        ))}
      </select>
      <input
        type="search"
        aria-label={group === undefined ? `Find one of all ${many}` : `Find in ${titles.get(group) ?? group}`}
        placeholder="Find in the lake"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setText('');
          if (event.key === 'Enter' && hits[0]) select(hits[0].node.id);
        }}
      />
      {words && data && (
        <ul className={styles.found} aria-live="polite">
          {hits.map(({ node: { id, name } }) => (
            <li key={id}>
              <button type="button" onClick={() => select(id)}>
                {name}
              </button>
            </li>
          ))}
          {data.find.total > hits.length && hits.length > 0 && (
            <li>
              and {!data.find.counted && 'at least '}
              {(data.find.total - hits.length).toLocaleString('en')} more
            </li>
          )}
          {hits.length === 0 && <li>Nothing is found.</li>}
        </ul>
      )}
    </div>
  );
}
