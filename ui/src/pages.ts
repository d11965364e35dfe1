/**
 * The registry of pages. A page with an address of its own is a component and an entry here: `PAGES` are linked in the top bar and open at
 * `?page=name`, `DATASET_PAGES` are the tabs of a dataset and open at `?dataset=id&page=name`.
 */
import { type ComponentType, lazy } from 'react';
import type { Location } from './location/location';

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
  View: ComponentType<Props>;
}

export interface PageProps {
  location: Location;
}

export interface DatasetPageProps extends PageProps {
  /** Id of the dataset. */
  dataset: string;
}

export const PAGES: readonly Page<PageProps>[] = [
  {
    name: 'map',
    title: 'Map',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/LakeMap/LakeMapPage')).LakeMapPage })),
  },
  {
    name: 'replays',
    title: 'Replays',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/Replays/ReplaysPage')).ReplaysPage })),
  },
  {
    name: 'triggers',
    title: 'Triggers',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/Triggers/TriggersPage')).TriggersPage })),
  },
  {
    name: 'workflows',
    title: 'Workflows',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/Workflows/WorkflowsPage')).WorkflowsPage })),
  },
  {
    name: 'glossary',
    title: 'Glossary',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/GlossaryPage/GlossaryPage')).GlossaryPage })),
  },
  {
    name: 'job',
    title: 'Job',
    isItem: true,
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/JobPage/JobPage')).JobPage })),
  },
  {
    name: 'run',
    title: 'Run',
    isItem: true,
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/RunPage/RunPage')).RunPage })),
  },
  {
    name: 'admin',
    title: 'Administration',
    scopes: ['admin', 'audit'],
    hint: 'Sign in with the role admin or auditor, or open the page with the link of: headwater serve --admin-link',
    View: lazy(async () => ({ default: (await import('./components/AdminPage/AdminPage')).AdminPage })),
  },
];

export const DATASET_PAGES: readonly Page<DatasetPageProps>[] = [
  {
    name: 'lineage',
    title: 'Lineage',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/LineageTab/LineageTab')).LineageTab })),
  },
  {
    name: 'columns',
    title: 'Columns',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/ColumnsPage/ColumnsPage')).ColumnsPage })),
  },
  {
    name: 'impact',
    title: 'Impact',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/ImpactPage/ImpactPage')).ImpactPage })),
  },
  {
    name: 'runs',
    title: 'Runs',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/RunsPage/RunsPage')).RunsPage })),
  },
  {
    name: 'versions',
    title: 'Versions',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/Versions/VersionsPage')).VersionsPage })),
  },
  {
    name: 'quality',
    title: 'Quality',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/QualityPage/QualityPage')).QualityPage })),
  },
  {
    name: 'about',
    title: 'About',
    scopes: ['read'],
    hint: 'Sign in, or open the page with the link of: headwater serve',
    View: lazy(async () => ({ default: (await import('./components/AboutPage/AboutPage')).AboutPage })),
  },
  {
    name: 'replay',
    title: 'Run again',
    scopes: ['replay'],
    hint: 'Open the page with the link of: headwater serve --write-link',
    View: lazy(async () => ({ default: (await import('./components/ReplayForm/ReplayPage')).ReplayPage })),
  },
];

export function isOpenTo({ scopes }: Pick<Page<never>, 'scopes'>, session: readonly string[]): boolean {
  return scopes.some((scope) => session.includes(scope));
}
