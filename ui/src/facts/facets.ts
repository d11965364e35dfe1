/** The facets of a dataset as rows of words. Facets without words of their own stay in the form of their producer. */
import { list, type Properties, properties, text } from './read';

export interface FacetRow {
  label: string;
  value: string;
}

/** Facets whose content is in other parts of the page. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'schema',
  'columnLineage',
  'documentation',
  'ownership',
  'tags',
  'dataSource',
  'storage',
  'datasetType',
  'symlinks',
]);
/** Statements of people, which the service combines into descriptions. */
const OWN = /^(curated:|tag:|tagged:|by:|how:)/;

/** The place and the format in which a dataset is stored, as its producers state it. */
export function storageOf(dataset: Properties): FacetRow[] {
  const source = properties(dataset.dataSource);
  const storage = properties(dataset.storage);
  const catalog = properties(dataset.catalog);
  const known: [string, string | undefined][] = [
    ['Data source', joined(source.name, source.uri)],
    ['Storage', joined(storage.storageLayer, storage.fileFormat)],
    ['Type', joined(properties(dataset.datasetType).datasetType, properties(dataset.datasetType).subType)],
    ['Catalog', joined(catalog.name, catalog.type, catalog.warehouseUri ?? catalog.metadataUri)],
    [
      'Version',
      text(properties(dataset.version).datasetVersion) ?? text(properties(dataset.datasetVersion).datasetVersion),
    ],
    ['Last change', text(properties(dataset.lifecycleStateChange).lifecycleStateChange)?.toLowerCase()],
    [
      'Other names',
      list(properties(dataset.symlinks).identifiers)
        .map(({ namespace, name }) => joined(namespace, name))
        .filter(Boolean)
        .join('; ') || undefined,
    ],
  ];
  return known.flatMap(([label, value]) => (value === undefined ? [] : [{ label, value }]));
}

/** The tools that stated the schema and the other facets of a dataset. */
export function producersOf(dataset: Properties): FacetRow[] {
  const byProducer = Map.groupBy(
    Object.entries(dataset).flatMap(([name, facet]) => {
      const producer = text(properties(facet)._producer);
      return producer === undefined ? [] : [{ name, producer }];
    }),
    ({ producer }) => producer,
  );
  return [...byProducer].map(([producer, facets]) => ({
    label: facets
      .map(({ name }) => name)
      .sort()
      .join(', '),
    value: producer,
  }));
}

/** All other facets as JSON, without the parts that each facet has. */
export function otherFacetsOf(dataset: Properties): FacetRow[] {
  return Object.entries(dataset)
    .filter(([name, facet]) => !ELSEWHERE.has(name) && !OWN.test(name) && typeof facet === 'object' && facet !== null)
    .map(([label, facet]) => {
      const { _producer, _schemaURL, ...rest } = properties(facet);
      return { label, value: JSON.stringify(Array.isArray(facet) ? facet : rest, null, 2) };
    })
    .filter(({ value }) => value !== '{}')
    .sort((a, b) => a.label.localeCompare(b.label));
}

function joined(...parts: unknown[]): string | undefined {
  return parts.flatMap((part) => text(part) ?? []).join(', ') || undefined;
}
