import { datasetOfColumn, nameOfColumn } from '../../graph/ids';
import { jobTitleOf, pathOf } from '../../graph/names';
import { HOME, type Location } from '../../location/location';
import { Link } from '../Link/Link';

/** A link to the page of a node: a dataset, a column, a job or a run. A node of another kind is a text. */
export function NodeLink({ id }: { id: string }) {
  const to = pageOf(id);
  const words = wordsOf(id);
  return to ? (
    <Link to={to} title={words}>
      <bdi>{words}</bdi>
    </Link>
  ) : (
    <bdi>{words}</bdi>
  );
}

function pageOf(id: string): Location | undefined {
  if (id.startsWith('dataset:')) return { ...HOME, dataset: id };
  if (id.startsWith('column:'))
    return { ...HOME, dataset: datasetOfColumn(id), page: 'columns', item: nameOfColumn(id) };
  if (id.startsWith('job:')) return { ...HOME, page: 'job', item: id };
  return id.startsWith('run:') ? { ...HOME, page: 'run', item: id } : undefined;
}

/** The name of a node in words: a column has the name of its dataset. */
export function wordsOf(id: string): string {
  if (id.startsWith('column:')) return `${nameOfColumn(id)} of ${pathOf(datasetOfColumn(id))}`;
  if (id.startsWith('dataset:')) return pathOf(id);
  return id.startsWith('job:') ? jobTitleOf(id) : id;
}
