import type { TraceQuery, TraceQueryVariables } from '../../api/generated/graphql';
import type { Answered } from '../../api/query';
import { fullName } from '../../facts/datasets';
import { downloadText } from '../../facts/files';
import { titleOf } from '../../graph/names';
import { answerAsJson, fileNameOf, recordsAsCsv } from '../../trace/evidence';
import { ExportMenu } from '../ExportMenu/ExportMenu';
import { ReportHead } from '../ReportHead/ReportHead';

export type AnsweredTrace = Answered<TraceQueryVariables, TraceQuery>;

interface TraceExportProps {
  answered: AnsweredTrace;
  /** The number of the traced record. */
  place: string;
}

/** The files in which an answer can be saved. */
export function TraceExport({ answered: { question, answer }, place }: TraceExportProps) {
  const { trace } = answer;
  const dataset = titleOf(question.dataset);
  const name = fileNameOf(`trace of ${place} of ${dataset}`, trace);
  const kinds = [
    {
      label: 'Report',
      hint: 'The question, the answer and what is missing, to print or to save as PDF',
      save: () => print(),
    },
    {
      label: 'Records as CSV',
      hint: 'The records of the answer with their places and values',
      save: () => downloadText(`${name}.csv`, 'text/csv', recordsAsCsv(trace)),
    },
    {
      label: 'Answer as JSON',
      hint: 'The question, the records, the path of runs, and the reasons if it is not exact',
      save: () =>
        downloadText(
          `${name}.json`,
          'application/json',
          answerAsJson(question, trace, document.location.href, new Date()),
        ),
    },
  ];
  return <ExportMenu kinds={kinds} />;
}

/** The question of a trace on paper. */
export function TraceReport({ question, place }: { question: TraceQueryVariables; place: string }) {
  const [row] = [question.rows].flat();
  return (
    <ReportHead
      facts={[
        ['Question', questionText(question)],
        ['Dataset', fullName(question.dataset)],
        ['Record', row ? `${place}, row ${row.row} (from 0) of ${row.file}` : place],
        ['Version', question.asOf ?? undefined],
        ['Records of', question.to ? fullName(question.to) : 'all ends of the lineage'],
      ]}
    />
  );
}

function questionText({ column, forward, semantics }: TraceQueryVariables): string {
  const subject = column && !forward ? `the value of ${column}` : 'the record';
  return `${forward ? 'Where did' : 'Where does'} ${subject} ${forward ? 'go to' : 'come from'}? (${semantics.toLowerCase()})`;
}
