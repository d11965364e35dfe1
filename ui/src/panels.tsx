/**
 * The registry of panels: the sections at the side of the drawing that describe the selected card or column, in their order. A panel is a
 * folder in `components/` and an entry here.
 */
import type { ComponentType } from 'react';
import type { NodeKind, ViewInput } from './api/generated/graphql';
import { ColumnLineage, DatasetDetails } from './components/DatasetDetails/DatasetDetails';
import { JobDetails } from './components/JobDetails/JobDetails';
import { MaskButtons } from './components/MaskButtons/MaskButtons';
import { PanelSection } from './components/PanelSection/PanelSection';
import { StatedFacts } from './components/StatedFacts/StatedFacts';
import { SubjectLinks } from './components/SubjectLinks/SubjectLinks';
import { SuspectPanel } from './components/SuspectPanel/SuspectPanel';
import type { Scene, Subject } from './graph/scene';
import type { TraceLines } from './hooks/useScene';

export interface PanelProps {
  /** The selected card or column. */
  subject: Subject;
  scene: Scene;
  /** The request for the drawing, if it is a view. */
  view: ViewInput | undefined;
  trace: TraceLines | undefined;
}

export interface Panel {
  name: string;
  /** Kinds of the nodes that the panel describes. The default is all kinds. */
  kinds?: readonly NodeKind[];
  /** Whether the panel is right for a drawing of an earlier time. Most facts are those of now. */
  isTimed?: true;
  View: ComponentType<PanelProps>;
}

const NO_COLUMNS: ReadonlySet<string> = new Set();

export const PANELS: readonly Panel[] = [
  { name: 'masks', kinds: ['DATASET', 'JOB'], isTimed: true, View: MaskButtons },
  { name: 'links', isTimed: true, View: SubjectLinks },
  { name: 'facts', kinds: ['DATASET', 'JOB'], View: ({ subject }) => <StatedFacts node={subject.id} /> },
  {
    name: 'dataset',
    kinds: ['DATASET'],
    View: ({ subject, trace }) => <DatasetDetails dataset={subject.id} tracedColumns={trace?.columns ?? NO_COLUMNS} />,
  },
  {
    name: 'job',
    kinds: ['JOB'],
    View: ({ subject, trace }) => (
      <JobDetails job={subject.id} hop={trace?.hops.find(({ job }) => job === subject.id)} />
    ),
  },
  {
    name: 'suspects',
    kinds: ['JOB'],
    View: ({ subject }) => <SuspectPanel name={subject.id} />,
  },
  {
    name: 'column',
    kinds: ['COLUMN'],
    View: ({ subject }) => (
      <PanelSection title="Column lineage">
        <ColumnLineage column={subject.id} />
      </PanelSection>
    ),
  },
];
