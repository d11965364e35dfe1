import type { Chosen, FacetName, Facets } from '../../hooks/useDatasets';
import styles from './FacetBar.module.css';

interface FacetBarProps {
  facets: Facets;
  chosen: Chosen;
  onChange: (chosen: Chosen) => void;
}

const TITLES: readonly [FacetName, string][] = [
  ['state', 'Last run'],
  ['namespace', 'Namespace'],
  ['owner', 'Owner'],
  ['tag', 'Tag'],
];
const STATES: Record<string, string> = {
  COMPLETE: 'succeeded',
  FAIL: 'failed',
  ABORT: 'aborted',
  START: 'started',
  RUNNING: 'running',
};
const SHOWN = 8;

/** The most frequent values of each facet, with their counts. A button narrows the list to its value, or removes this. */
export function FacetBar({ facets, chosen, onChange }: FacetBarProps) {
  const rows = TITLES.map(([name, title]) => ({ name, title, values: valuesOf(facets, name, chosen[name]) }));
  const toggle = (name: FacetName, value: string) => {
    const before = chosen[name];
    const after = before.includes(value) ? before.filter((each) => each !== value) : [...before, value];
    onChange({ ...chosen, [name]: after });
  };
  return (
    <div className={styles.bar}>
      {rows
        .filter(({ values, name }) => values.length > 1 || chosen[name].length > 0)
        .map(({ name, title, values }) => (
          <fieldset key={name} className={styles.facet}>
            <legend>{title}</legend>
            {values.map(({ value, count }) => (
              <button
                key={value}
                type="button"
                title={value}
                aria-pressed={chosen[name].includes(value)}
                onClick={() => toggle(name, value)}
              >
                <span>{name === 'state' ? (STATES[value] ?? value.toLowerCase()) : value}</span>{' '}
                <small>{count.toLocaleString('en')}</small>
              </button>
            ))}
          </fieldset>
        ))}
    </div>
  );
}

/** The values to show: the most frequent ones, and the chosen ones even if nothing has them. */
function valuesOf(facets: Facets, name: FacetName, chosen: readonly string[]) {
  const values = facets.find((facet) => facet.name === name)?.values ?? [];
  const absent = chosen.filter((value) => !values.some((each) => each.value === value));
  const picked = values.filter((each, index) => index < SHOWN || chosen.includes(each.value));
  return [...picked, ...absent.map((value) => ({ value, count: 0 }))];
}
