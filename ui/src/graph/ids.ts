/** Ids are `kind:part:part…`, each part percent-encoded. */
export interface ParsedId {
  kind: string;
  parts: string[];
}

export function parseId(id: string): ParsedId {
  const [kind = '', ...parts] = id.split(':');
  return { kind, parts: parts.map(decode) };
}

/** The dataset that a column belongs to: `column:{namespace}:{name}:{column}`. */
export function datasetOfColumn(columnId: string): string {
  const [, ...parts] = columnId.split(':');
  return ['dataset', ...parts.slice(0, 2)].join(':');
}

export function nameOfColumn(columnId: string): string {
  return parseId(columnId).parts.slice(2).join(':');
}

export function columnId(datasetId: string, column: string): string {
  const [, ...parts] = datasetId.split(':');
  return ['column', ...parts, encode(column)].join(':');
}

const PLAIN = /[A-Za-z0-9_.\-~/=+,@]/;

/** Encode a part like the service: all but unreserved characters and `/=+,@`. */
function encode(part: string): string {
  return [...part].map((character) => (PLAIN.test(character) ? character : strictEncode(character))).join('');
}

function strictEncode(character: string): string {
  return encodeURIComponent(character).replace(
    /[!'()*]/g,
    (rest) => `%${rest.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // another producer did not encode the id
  }
}
