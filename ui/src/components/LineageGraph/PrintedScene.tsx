import { useEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Scene } from '../../graph/scene';
import { SceneSvg } from '../SceneSvg/SceneSvg';
import { slicesOf } from '../SceneSvg/slices';
import styles from './LineageGraph.module.css';

/** The largest width of a picture that is readable on an upright page. */
const UPRIGHT = 900;

/** On paper: the whole drawing in readable parts from left to right, because the window shows a part of it. */
export function PrintedScene({ scene }: { scene: Scene }) {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    // The browser prints what is on the page when the event ends.
    const begin = () => flushSync(() => setPrinting(true));
    const end = () => setPrinting(false);
    addEventListener('beforeprint', begin);
    addEventListener('afterprint', end);
    return () => {
      removeEventListener('beforeprint', begin);
      removeEventListener('afterprint', end);
    };
  }, []);
  if (!isPrinting) return null;
  // All parts have the same scale.
  const slices = slicesOf(scene, UPRIGHT);
  const widest = Math.max(...slices.map(({ from, to }) => to - from));
  return (
    <div className={styles.printed}>
      {slices.map((slice) => (
        <div key={slice.from} style={{ width: `${(100 * (slice.to - slice.from)) / widest}%` }}>
          <SceneSvg scene={scene} slice={slice} />
        </div>
      ))}
    </div>
  );
}
