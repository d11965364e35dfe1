import { useRef } from 'react';
import { useReturnFocus } from '../../hooks/useReturnFocus';
import { PANELS, type PanelProps } from '../../panels';
import { Icon } from '../Icon/Icon';
import styles from './DetailPanel.module.css';

interface DetailPanelProps extends PanelProps {
  onClose: () => void;
}

/** The details of a card or a column. The panel takes the focus when it opens. Escape closes it and returns the focus. */
export function DetailPanel({ onClose, ...props }: DetailPanelProps) {
  const panel = useRef<HTMLElement>(null);
  const { kind, title, name, caption } = props.subject;
  const isCurrent = !props.view?.asOf;
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
          <p>{name}</p>
          <p>{caption}</p>
        </div>
        <button type="button" className={styles.close} onClick={onClose} aria-label="Close the details">
          <Icon name="close" size={14} />
        </button>
      </header>
      {PANELS.filter(({ kinds, isTimed }) => (!kinds || kinds.includes(kind)) && (isCurrent || isTimed)).map(
        ({ name: panelName, View }) => (
          <View key={panelName} {...props} />
        ),
      )}
    </aside>
  );
}
