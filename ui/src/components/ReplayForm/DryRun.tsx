import type { ReplayDryRunQuery } from '../../api/generated/graphql';
import { bytesText } from '../../facts/size';
import { secondsText } from '../../facts/time';
import { jobTitleOf, titleOf } from '../../graph/names';
import { countText } from '../../graph/records';
import { Note } from '../Note/Note';
import { Table } from '../Table/Table';

type Summary = ReplayDryRunQuery['replayDryRun'];

/** The programs, records, time and disk space of a replay before it starts. */
export function DryRun({ summary }: { summary: Summary }) {
  const { starts, steps, excluded, kept, edited, seconds, diskBytes, diskFree, unknownSizes, notes } = summary;
  const facts = [
    starts.length > 0 && `starts at ${starts.map(titleOf).join(', ')}`,
    excluded > 0 && `${countText(excluded)} left out`,
    kept > 0 && `${countText(kept)} read`,
    edited > 0 && `${countText(edited)} edited`,
    seconds === null ? 'time unknown' : `about ${secondsText(seconds)}`,
    `${bytesText(diskBytes)}${unknownSizes.length > 0 ? ' or more' : ''} of disk space, ${bytesText(diskFree)} free`,
  ];
  return (
    <section aria-label="Dry run" aria-live="polite">
      <p>{facts.filter(Boolean).join(' · ')}</p>
      <Table
        label="Programs of the replay, in order"
        titles={['Program', 'Script', 'Writes', 'Last time']}
        rows={steps.map((step) => ({
          key: step.job,
          cells: [
            jobTitleOf(step.job),
            step.script,
            step.writes.map(titleOf).join(', '),
            step.seconds === null ? 'unknown' : secondsText(step.seconds),
          ],
        }))}
      />
      {diskBytes > diskFree && <Note tone="warn">The disk may be too small.</Note>}
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
    </section>
  );
}
