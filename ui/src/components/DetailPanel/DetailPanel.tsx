import { useRef, useState } from 'react';
import type { ViewInput } from '../../api/generated/graphql';
import { linksOfSubject, type Scene, type SceneLink, type Subject } from '../../graph/scene';
import { useReturnFocus } from '../../hooks/useReturnFocus';
import type { TraceLines } from '../../hooks/useScene';
import { ColumnLineage, DatasetDetails } from '../DatasetDetails/DatasetDetails';
import { Icon } from '../Icon/Icon';
import { JobDetails } from '../JobDetails/JobDetails';
import { PanelSection } from '../PanelSection/PanelSection';
import { StatedFacts } from '../StatedFacts/StatedFacts';
import styles from './DetailPanel.module.css';
import { MemberList } from './MemberList';

interface DetailPanelProps {
  subject: Subject;
  scene: Scene;
  /** The request for the drawing, if it is a view. */
  view: ViewInput | undefined;
  trace: TraceLines | undefined;
  onClose: () => void;
}

const NO_COLUMNS: ReadonlySet<string> = new Set();

/** The details of a card or a column. The panel takes the focus when it opens. Escape closes it and returns the focus. */
export function DetailPanel({ subject, scene, view, trace, onClose }: DetailPanelProps) {
  const panel = useRef<HTMLElement>(null);
  const { id, kind, title } = subject;
  // The service has no facts of an earlier time.
  const isCurrent = !view?.asOf;
  useReturnFocus(panel);
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={styles.panel}
      aria-label={`Details of ${title}`}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <header className={styles.head}>
        <div>
          <h2>{title}</h2>
          <p>{subject.name}</p>
          <p>{subject.caption}</p>
        </div>
        <button type="button" className={styles.close} onClick={onClose} aria-label="Close the details">
          <Icon name="close" size={14} />
        </button>
      </header>
      <Links subject={subject} scene={scene} view={view} />
      {isCurrent && (kind === 'DATASET' || kind === 'JOB') && <StatedFacts node={id} />}
      {isCurrent && kind === 'DATASET' && <DatasetDetails dataset={id} tracedColumns={trace?.columns ?? NO_COLUMNS} />}
      {isCurrent && kind === 'JOB' && <JobDetails job={id} hop={trace?.hops.find((hop) => hop.job === id)} />}
      {isCurrent && kind === 'COLUMN' && (
        <PanelSection title="Column lineage">
          <ColumnLineage column={id} />
        </PanelSection>
      )}
    </aside>
  );
}

interface LinksProps {
  subject: Subject;
  scene: Scene;
  view: ViewInput | undefined;
}

function Links({ subject, scene, view }: LinksProps) {
  const links = linksOfSubject(scene, subject);
  return (
    <PanelSection title="Links">
      {subject.isMixed && (
        <p className={styles.mixed}>
          Some data that enters here leaves by other links, so a path through this card can be wrong.
        </p>
      )}
      {links.length === 0 && <p>This card has no links in the drawing.</p>}
      <ul className={styles.links}>
        {links.map(({ link, isSource, other }) => (
          <li key={link.id}>
            {wordsOf(link, isSource)} {other}
            {link.label && view && <Members link={link} view={view} />}
          </li>
        ))}
      </ul>
    </PanelSection>
  );
}

function wordsOf({ isIndirect }: SceneLink, isSource: boolean): string {
  if (isIndirect) return isSource ? 'decides about rows of' : 'has its rows decided by';
  return isSource ? 'flows into' : 'comes from';
}

function Members({ link, view }: { link: SceneLink; view: ViewInput }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      {' '}
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {link.label}
      </button>
      {isOpen && <MemberList link={link} view={view} />}
    </>
  );
}
