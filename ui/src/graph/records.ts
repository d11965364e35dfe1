import { baseName } from './names';

/** An entry of the result of a trace. */
export interface ReachedRecord {
  dataset: string;
  datasetName: string;
  file: string | null;
  row: number | null;
  line: number | null;
  grain: 'RECORD' | 'PARTITION' | 'VERSION' | 'DATASET';
  values: unknown;
}

/** The records of one dataset. */
export interface RecordGroup {
  dataset: string;
  name: string;
  records: ReachedRecord[];
  /** Entries that are known only as a file, a version or the whole dataset. */
  coarse: ReachedRecord[];
  /** Number of its records and entries, if it is known. The list of a cut group is shorter. */
  count: number | undefined;
  /** Whether a limit can have removed records. */
  cut: boolean;
}

/**
 * Group records by dataset. If `total` is larger than the list, the last group is cut. Its number of records is known if no other dataset
 * of the answer comes after it: `datasets` are the datasets that the answer can contain.
 */
export function groupRecords(
  records: readonly ReachedRecord[],
  total = records.length,
  datasets: readonly string[] = [],
): RecordGroup[] {
  const groups = new Map<string, RecordGroup>();
  for (const record of records) {
    const group = groups.get(record.dataset) ?? {
      dataset: record.dataset,
      name: record.datasetName,
      records: [],
      coarse: [],
      count: undefined,
      cut: false,
    };
    (record.grain === 'RECORD' ? group.records : group.coarse).push(record);
    groups.set(record.dataset, group);
  }
  for (const group of groups.values()) group.count = group.records.length + group.coarse.length;
  const last = [...groups.values()].at(-1);
  if (last && total > records.length) {
    const isKnown = datasets.length > 0 && datasets.every((dataset) => groups.has(dataset));
    last.cut = true;
    last.count = isKnown ? total - (records.length - last.records.length - last.coarse.length) : undefined;
  }
  return [...groups.values()];
}

/** Captions by the id of the dataset: the number of traced records, or a coarser grain. */
export function captionsOf(
  groups: readonly RecordGroup[],
  hops: readonly { output: string; records: number; grain: string }[],
): Map<string, string> {
  const captions = new Map<string, string>();
  for (const hop of hops) if (hop.grain === 'RECORD') captions.set(hop.output, countText(hop.records));
  for (const group of groups)
    captions.set(
      group.dataset,
      group.records.length > 0 ? countOf(group) : `${group.coarse[0]?.grain.toLowerCase() ?? 'coarse'} grain`,
    );
  return captions;
}

/** The number of records in a group. Without a known number, the number in the list with a plus sign. */
export function countOf({ records, coarse, count }: RecordGroup): string {
  return count === undefined ? countText(records.length, true) : countText(count - coarse.length);
}

/** `1 record`, `669 records`, or `912+ records` for a list that was cut. */
export function countText(count: number, cut = false): string {
  return `${count.toLocaleString('en')}${cut ? '+' : ''} ${count === 1 && !cut ? 'record' : 'records'}`;
}

/** `weather.csv, line 1011` */
export function placeOf({ file, row, line, datasetName }: ReachedRecord): string {
  const name = shortFile(baseName(file ?? datasetName));
  return row === null ? name : `${name}, ${numberOf({ row, line })}`;
}

/** `line 3` in a file of text, counted from 1, otherwise `row 2`, counted from 0. */
export function numberOf({ row, line }: { row: number | null; line: number | null }): string {
  return line === null ? `row ${row}` : `line ${line}`;
}

/** Remove the UUID from a file name of Spark. The number identifies the file well enough for a reader. */
export function shortFile(name: string): string {
  return name.replace(/-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-c\d+)?/, '…');
}
