/**
 * The registry of pages. A page with an address of its own is a component and an entry here: `PAGES` are linked in the top bar and open at
 * `?page=name`, `DATASET_PAGES` are the tabs of a dataset and open at `?dataset=id&page=name`.
 */
import { type Location, tracedRecord } from './location/location';
import { type Split, split } from './split';

export interface Page<Props> {
  /** The name in the address. */
  name: string;
  title: string;
  /** Whether the top bar has no link to the page, because it shows one item. */
  isItem?: true;
  /** A session needs one of these scopes. */
  scopes: readonly string[];
  /** Instruction for a session without these scopes. */
  hint: string;
  View: Split<Props>;
}

export interface PageProps {
  location: Location;
}

export interface DatasetPageProps extends PageProps {
  /** Id of the dataset. */
  dataset: string;
}

/** A page for each session that can read. */
const READING = {
  scopes: ['read'],
  hint: 'Sign in, or open the page with the link of: headwater serve',
} as const;

export const PAGES: readonly Page<PageProps>[] = [
  {
    name: 'map',
    title: 'Map',
    ...READING,
    View: split(async () => (await import('./components/LakeMap/LakeMapPage')).LakeMapPage),
  },
  {
    name: 'replays',
    title: 'Replays',
    ...READING,
    View: split(async () => (await import('./components/Replays/ReplaysPage')).ReplaysPage),
  },
  {
    name: 'triggers',
    title: 'Triggers',
    ...READING,
    View: split(async () => (await import('./components/Triggers/TriggersPage')).TriggersPage),
  },
  {
    name: 'workflows',
    title: 'Workflows',
    ...READING,
    View: split(async () => (await import('./components/Workflows/WorkflowsPage')).WorkflowsPage),
  },
  {
    name: 'policies',
    title: 'Policies',
    ...READING,
    View: split(async () => (await import('./components/Policies/PoliciesPage')).PoliciesPage),
  },
  {
    name: 'glossary',
    title: 'Glossary',
    ...READING,
    View: split(async () => (await import('./components/GlossaryPage/GlossaryPage')).GlossaryPage),
  },
  {
    name: 'job',
    title: 'Job',
    isItem: true,
    ...READING,
    View: split(async () => (await import('./components/JobPage/JobPage')).JobPage),
  },
  {
    name: 'run',
    title: 'Run',
    isItem: true,
    ...READING,
    View: split(async () => (await import('./components/RunPage/RunPage')).RunPage),
  },
  {
    name: 'admin',
    title: 'Administration',
    scopes: ['admin', 'audit'],
    hint: 'Sign in with the role admin or auditor, or open the page with the link of: headwater serve --admin-link',
    View: split(async () => (await import('./components/AdminPage/AdminPage')).AdminPage),
  },
];

export const DATASET_PAGES: readonly Page<DatasetPageProps>[] = [
  {
    name: 'lineage',
    title: 'Lineage',
    ...READING,
    View: split(async () => (await import('./components/LineageTab/LineageTab')).LineageTab),
  },
  {
    name: 'columns',
    title: 'Columns',
    ...READING,
    View: split(async () => (await import('./components/ColumnsPage/ColumnsPage')).ColumnsPage),
  },
  {
    name: 'impact',
    title: 'Impact',
    ...READING,
    View: split(async () => (await import('./components/ImpactPage/ImpactPage')).ImpactPage),
  },
  {
    name: 'runs',
    title: 'Runs',
    ...READING,
    View: split(async () => (await import('./components/RunsPage/RunsPage')).RunsPage),
  },
  {
    name: 'versions',
    title: 'Versions',
    ...READING,
    View: split(async () => (await import('./components/Versions/VersionsPage')).VersionsPage),
  },
  {
    name: 'quality',
    title: 'Quality',
    ...READING,
    View: split(async () => (await import('./components/QualityPage/QualityPage')).QualityPage),
  },
  {
    name: 'why',
    title: 'Why?',
    ...READING,
    View: split(async () => (await import('./components/WhyPage/WhyPage')).WhyPage),
  },
  {
    name: 'person',
    title: 'Personal data',
    ...READING,
    View: split(async () => (await import('./components/SubjectPage/SubjectPage')).SubjectPage),
  },
  {
    name: 'about',
    title: 'About',
    ...READING,
    View: split(async () => (await import('./components/AboutPage/AboutPage')).AboutPage),
  },
  {
    name: 'replay',
    title: 'Run again',
    scopes: ['replay'],
    hint: 'Open the page with the link of: headwater serve --write-link',
    View: split(async () => (await import('./components/ReplayForm/ReplayPage')).ReplayPage),
  },
];

/* The pages without a name. */

export const HomePage = split(async () => (await import('./components/HomePage/HomePage')).HomePage);
export const DatasetPage = split(async () => (await import('./components/DatasetPage/DatasetPage')).DatasetPage);
export const DatasetRows = split(async () => (await import('./components/DatasetRows/DatasetRows')).DatasetRows);
export const TracePage = split(async () => (await import('./components/TracePage/TracePage')).TracePage);
export const LineageGraph = split(async () => (await import('./components/LineageGraph/LineageGraph')).LineageGraph);

/** Fetch all scripts of the page at an address together. Otherwise each is fetched after the script that draws it. */
export function preloadPage(location: Location): void {
  for (const part of partsAt(location)) void part.preload();
}

function partsAt(location: Location): { preload: () => Promise<unknown> }[] {
  const { dataset, page } = location;
  if (tracedRecord(location)) return [TracePage, LineageGraph];
  if (dataset === undefined) return [PAGES.find(({ name }) => name === page)?.View ?? HomePage];
  const tab = DATASET_PAGES.find(({ name }) => name === page)?.View ?? DatasetRows;
  return [DatasetPage, tab, ...(tab === DatasetRows || page === 'lineage' ? [LineageGraph] : [])];
}

export function isOpenTo({ scopes }: Pick<Page<never>, 'scopes'>, session: readonly string[]): boolean {
  return scopes.some((scope) => session.includes(scope));
}
