import { list, properties, text } from './read';

export interface ColumnFacts {
  name: string;
  type: string;
}

/** The columns with their descriptions. */
export function columnsOf(nodeProperties: unknown): (ColumnFacts & { description: string })[] {
  const fields = list(properties(properties(nodeProperties).schema).fields);
  const descriptions = new Map(fields.map((field) => [text(field.name), text(field.description) ?? '']));
  return schemaOf(nodeProperties).map((column) => ({ ...column, description: descriptions.get(column.name) ?? '' }));
}

/** The columns of a dataset in order, from OpenLineage's schema facet. */
export function schemaOf(nodeProperties: unknown): ColumnFacts[] {
  const fields = list(properties(properties(nodeProperties).schema).fields);
  return fields.flatMap((field) => {
    const name = text(field.name);
    return name === undefined ? [] : [{ name, type: text(field.type) ?? '' }];
  });
}
