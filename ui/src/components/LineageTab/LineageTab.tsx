import type { DatasetPageProps } from '../../pages';
import { DatasetFlow } from '../DatasetFlow/DatasetFlow';

/** The lineage of a dataset. */
export function LineageTab({ location, dataset }: DatasetPageProps) {
  return (
    <section aria-label="Lineage">
      <DatasetFlow location={location} dataset={dataset} />
    </section>
  );
}
