import { useState } from 'react';
import type { ViewInput } from '../../api/generated/graphql';
import { linksOfSubject, type SceneLink } from '../../graph/scene';
import type { PanelProps } from '../../panels';
import styles from '../DetailPanel/DetailPanel.module.css';
import { MemberList } from '../DetailPanel/MemberList';
import { useGraph } from '../LineageGraph/graphContext';
import { PanelSection } from '../PanelSection/PanelSection';

/** The links of a card or a column in the drawing. A keyboard opens them here, because the lines themselves have no focus. */
export function SubjectLinks({ subject, scene, view }: PanelProps) {
  const links = linksOfSubject(scene, subject);
  const { onSelect } = useGraph();
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
            <button type="button" onClick={() => onSelect(link.id)}>
              {wordsOf(link, isSource)} {other}
            </button>
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
