import type { RefObject } from 'react';
import { evidenceOfTrace, provOfTrace, RECORD_EXPORT_SCOPES } from '../../api/exports';
import type { TraceQuery, TraceQueryVariables } from '../../api/generated/first/graphql';
import type { Answered } from '../../api/query';
import { requestFile } from '../../api/request';
import { fullName } from '../../facts/datasets';
import { downloadBlob, downloadText } from '../../facts/files';
import { instantText } from '../../facts/time';
import { titleOf } from '../../graph/names';
import type { Scene } from '../../graph/scene';
import { useSession } from '../../hooks/useSession';
import { answerAsJson, fileNameOf, recordsAsCsv } from '../../trace/evidence';
import { type ExportKind, ExportMenu } from '../ExportMenu/ExportMenu';
import { ReportHead } from '../ReportHead/ReportHead';
import { drawingKinds } from '../SceneSvg/files';

export type AnsweredTrace = Answered<TraceQueryVariables, TraceQuery>;

interface TraceExportProps {
  answered: AnsweredTrace;
  /** The number of the traced record. */
  place: string;
  sceneRef: RefObject<Scene | null>;
}

/** The files in which an answer can be saved. */
export function TraceExport({ answered: { question, answer }, place, sceneRef }: TraceExportProps) {
  const { scopes, name: user } = useSession();
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
    ...drawingKinds(() => drawingOf(sceneRef.current, { name, question, trace, place, user })),
  ];
  const mayExport = RECORD_EXPORT_SCOPES.every((scope) => scopes.includes(scope));
  return <ExportMenu kinds={mayExport ? [...kinds, ...serviceKinds(question, name)] : kinds} />;
}

/** Files that the service makes. */
function serviceKinds(question: TraceQueryVariables, name: string): ExportKind[] {
  const provenance = {
    label: 'Provenance as PROV',
    hint: 'W3C PROV-JSON of the records and of the runs between them',
    save: async () => downloadBlob(`${name}.prov.json`, await requestFile(provOfTrace(question))),
  };
  const evidence = {
    label: 'Evidence bundle',
    hint: 'The answer with the log entries behind it, signed: headwater evidence verify checks it',
    save: async () => downloadBlob(`${name}.evidence.zip`, await requestFile(evidenceOfTrace(question))),
  };
  return question.forward ? [provenance] : [provenance, evidence];
}

interface TraceFacts {
  name: string;
  question: TraceQueryVariables;
  trace: TraceQuery['trace'];
  place: string;
  user: string | undefined;
}

function drawingOf(scene: Scene | null, { name, question, trace, place, user }: TraceFacts) {
  if (!scene) return undefined;
  const facts = [
    ...questionFacts(question, place),
    ['Exact', trace.exact ? 'yes' : `no: ${trace.incomplete.map(({ reason }) => reason).join(' ')}`],
    ['Saved', instantText(new Date().toISOString())],
    ['Saved by', user],
  ];
  return { scene, name, heading: facts.flatMap(([label, value]) => (value ? `${label}: ${value}` : [])) };
}

/** The question of a trace on paper. */
export function TraceReport({ question, place }: { question: TraceQueryVariables; place: string }) {
  return <ReportHead facts={questionFacts(question, place)} />;
}

function questionFacts(question: TraceQueryVariables, place: string): (readonly [string, string | undefined])[] {
  const [row] = [question.rows].flat();
  return [
    ['Question', questionText(question)],
    ['Dataset', fullName(question.dataset)],
    ['Record', row ? `${place}, row ${row.row} (from 0) of ${row.file}` : place],
    ['Version', question.asOf ?? undefined],
    ['Records of', question.to ? fullName(question.to) : 'all ends of the lineage'],
  ];
}

function questionText({ column, forward, semantics }: TraceQueryVariables): string {
  const subject = column && !forward ? `the value of ${column}` : 'the record';
  return `${forward ? 'Where did' : 'Where does'} ${subject} ${forward ? 'go to' : 'come from'}? (${semantics.toLowerCase()})`;
}
