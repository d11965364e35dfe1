import { StartWitnessDocument } from '../../api/generated/graphql';
import { splitNames } from '../../facts/forms';
import styles from '../../styles/sections.module.css';
import { SearchPanel } from '../SearchPanel/SearchPanel';

interface WitnessPanelProps {
  dataset: string;
  where: string;
}

/** Finds the smallest set of records that still gives the first row that a predicate selects. */
export function WitnessPanel({ dataset, where }: WitnessPanelProps) {
  return (
    <SearchPanel
      kind="WITNESS"
      subject={dataset}
      title="Records that give a row"
      start="Find the records that give the first row"
      note="The program runs again on parts of its input, until it makes the row from as few records as possible. The real data stays unchanged."
      document={StartWitnessDocument}
      variables={(field) => ({ dataset, where, columns: splitNames(field('columns')) })}
    >
      <label className={styles.wide}>
        Columns whose values must stay
        <input
          name="columns"
          spellCheck={false}
          autoComplete="off"
          placeholder="all columns, or names separated by commas"
        />
      </label>
    </SearchPanel>
  );
}
