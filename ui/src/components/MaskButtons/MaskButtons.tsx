import type { PanelProps } from '../../panels';
import styles from '../DetailPanel/DetailPanel.module.css';
import { useGraph } from '../LineageGraph/graphContext';

/** Hides the selected card, or all that is not on a way between it and the focus. The controls above the drawing show it again. */
export function MaskButtons({ subject, scene }: PanelProps) {
  const { onMask, onBetween } = useGraph();
  const focus = scene.cards.find(({ isFocus }) => isFocus);
  if (!onMask || !onBetween || !focus || focus.id === subject.id) return null;
  return (
    <p className={styles.masks}>
      <button type="button" onClick={() => onMask(`node=${subject.id}`)}>
        Hide this
      </button>
      <button type="button" onClick={() => onBetween(subject.id)}>
        Only the ways to or from {focus.title}
      </button>
    </p>
  );
}
