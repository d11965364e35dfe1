import { useRef } from 'react';
import type { NodeKind, ViewInput } from '../../api/generated/graphql';
import { type Scene, type SceneLink, titleOfEnd } from '../../graph/scene';
import { finerLevel } from '../../graph/view';
import { useReturnFocus } from '../../hooks/useReturnFocus';
import { Icon } from '../Icon/Icon';
import { PanelSection } from '../PanelSection/PanelSection';
import styles from './DetailPanel.module.css';
import { MemberList } from './MemberList';

interface LinkPanelProps {
  link: SceneLink;
  scene: Scene;
  /** The request for the drawing, if it is a view. */
  view: ViewInput | undefined;
  onEnter: ((id: string, level: NodeKind) => void) | undefined;
  onClose: () => void;
}

/** The details of a link: its members, and the controls that draw them. */
export function LinkPanel({ link, scene, view, onEnter, onClose }: LinkPanelProps) {
  const panel = useRef<HTMLElement>(null);
  useReturnFocus(panel, link.srcCard);
  const [from, to] = [titleOfEnd(scene, link.src), titleOfEnd(scene, link.dst)];
  const ends = scene.cards.filter(({ id, isBox, isLeaf }) => (id === link.src || id === link.dst) && !isBox && !isLeaf);
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={styles.panel}
      aria-label={`Details of the link from ${from} to ${to}`}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <header className={styles.head}>
        <div>
          <h2>
            {from} → {to}
          </h2>
          <p>{link.label || 'one flow'}</p>
        </div>
        <button type="button" className={styles.close} onClick={onClose} aria-label="Close the details">
          <Icon name="close" size={14} />
        </button>
      </header>
      {view && (
        <PanelSection title="Members">
          <div className={styles.links}>
            <MemberList link={link} view={view} />
          </div>
        </PanelSection>
      )}
      {onEnter && ends.some(({ kind }) => finerLevel(kind)) && (
        <PanelSection title="Zoom in">
          {ends.map(({ id, kind, title }) => {
            const level = finerLevel(kind);
            return (
              level && (
                <p key={id}>
                  <button type="button" className={styles.enter} onClick={() => onEnter(id, level)}>
                    Draw the {level.toLowerCase()}s inside {title}
                  </button>
                </p>
              )
            );
          })}
        </PanelSection>
      )}
    </aside>
  );
}
