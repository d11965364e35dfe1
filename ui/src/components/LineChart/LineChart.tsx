import { instantText } from '../../facts/time';
import styles from './LineChart.module.css';

export interface ChartPoint {
  /** An instant in ISO 8601. */
  at: string;
  value: number;
}

interface LineChartProps {
  /** Name of the series for screen readers. */
  label: string;
  /** Oldest first. */
  points: readonly ChartPoint[];
}

const WIDTH = 280;
const HEIGHT = 72;
const MARGIN = 6;

/** A small chart of one number over time. The scale begins at the least value, so the ends of the scale are named next to the chart. */
export function LineChart({ label, points }: LineChartProps) {
  const places = placesOf(points);
  const line = places.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  return (
    <svg className={styles.chart} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <polyline points={line} className={styles.line} />
      {places.map(({ x, y, point }) => (
        <circle key={point.at} cx={x} cy={y} r={3} className={styles.point}>
          <title>{`${instantText(point.at)}: ${point.value.toLocaleString('en')}`}</title>
        </circle>
      ))}
    </svg>
  );
}

interface Place {
  x: number;
  y: number;
  point: ChartPoint;
}

/** The points in the picture. A series without a change is a line in the middle. */
export function placesOf(points: readonly ChartPoint[]): Place[] {
  const times = points.map(({ at }) => Date.parse(at));
  const values = points.map(({ value }) => value);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const share = (value: number, low: number, high: number) => (high > low ? (value - low) / (high - low) : 0.5);
  return points.map((point, index) => ({
    x: MARGIN + share(times[index] ?? first, first, last) * (WIDTH - 2 * MARGIN),
    y: HEIGHT - MARGIN - share(point.value, least, most) * (HEIGHT - 2 * MARGIN),
    point,
  }));
}
