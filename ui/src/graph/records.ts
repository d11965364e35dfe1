import { baseName } from './names';

/** What a trace reached, as the service gives it. */
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
}

/** Records by dataset, in the order in which the datasets come. */
export function groupRecords(records: readonly ReachedRecord[]): RecordGroup[] {
  const groups = new Map<string, RecordGroup>();
  for (const record of records) {
    const group = groups.get(record.dataset) ?? {
      dataset: record.dataset,
      name: record.datasetName,
      records: [],
      coarse: [],
    };
    (record.grain === 'RECORD' ? group.records : group.coarse).push(record);
    groups.set(record.dataset, group);
  }
  return [...groups.values()];
}

/** How many records of each dataset belong to a trace, in words: `669 records`, or its grain where it is coarser. */
export function captionsOf(
  groups: readonly RecordGroup[],
  hops: readonly { output: string; records: number; grain: string }[],
): Map<string, string> {
  const captions = new Map<string, string>();
  for (const hop of hops) if (hop.grain === 'RECORD') captions.set(hop.output, countText(hop.records));
  for (const group of groups)
    captions.set(
      group.dataset,
      group.records.length > 0
        ? countText(group.records.length)
        : `${group.coarse[0]?.grain.toLowerCase() ?? 'coarse'} grain`,
    );
  return captions;
}

function countText(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'record' : 'records'}`;
}

/** `weather.csv, line 1011 (row 1009)` */
export function placeOf({ file, row, line, datasetName }: ReachedRecord): string {
  const name = baseName(file ?? datasetName);
  if (row === null) return name;
  return line === null ? `${name}, row ${row}` : `${name}, line ${line} (row ${row})`;
}
