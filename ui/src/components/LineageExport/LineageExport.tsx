import type { RefObject } from 'react';
import { EXPORT_SCOPE, provOfView } from '../../api/exports';
import { requestFile } from '../../api/request';
import { fullName } from '../../facts/datasets';
import { downloadBlob } from '../../facts/files';
import { instantText } from '../../facts/time';
import { titleOf } from '../../graph/names';
import type { Scene } from '../../graph/scene';
import { DEPTH, endOf } from '../../graph/zoom';
import type { Drawing } from '../../hooks/useDrawing';
import { useSession } from '../../hooks/useSession';
import { ExportMenu } from '../ExportMenu/ExportMenu';
import { ReportHead } from '../ReportHead/ReportHead';
import { drawingKinds } from '../SceneSvg/files';

interface LineageExportProps {
  /** Id of the dataset. */
  dataset: string;
  drawing: Drawing;
  sceneRef: RefObject<Scene | null>;
}

/** The files in which a lineage can be saved. */
export function LineageExport({ dataset, drawing, sceneRef }: LineageExportProps) {
  const { scopes, name: user } = useSession();
  const name = `lineage of ${titleOf(dataset)}`;
  const read = () => {
    const scene = sceneRef.current;
    const facts = [...factsOf(dataset, drawing), ['Saved', instantText(new Date().toISOString())], ['Saved by', user]];
    const heading = [
      `Lineage of ${fullName(dataset)}`,
      ...facts.flatMap(([label, value]) => (value ? `${label}: ${value}` : [])),
    ];
    return scene ? { scene, name, heading } : undefined;
  };
  const provenance = {
    label: 'Provenance as PROV',
    hint: 'W3C PROV-JSON of the lineage with its levels, hidden nodes and time',
    save: async () => downloadBlob(`${name}.prov.json`, await requestFile(provOfView(dataset, drawing.choice))),
  };
  return (
    <>
      <ExportMenu
        kinds={[
          {
            label: 'Report',
            hint: 'The question, the drawing and what is missing, to print or to save as PDF',
            save: () => print(),
          },
          ...drawingKinds(read),
          ...(scopes.includes(EXPORT_SCOPE) ? [provenance] : []),
        ]}
      />
      <ReportHead facts={[['Question', `Lineage of ${fullName(dataset)}`], ...factsOf(dataset, drawing)]} />
    </>
  );
}

type Fact = readonly [label: string, value: string | undefined];

/** The question behind a drawing, and the parts that are not drawn. */
function factsOf(dataset: string, { draft, choice, answer, changes }: Drawing): Fact[] {
  const { asOf, since, masks, ends, data, actors, depth = DEPTH } = choice;
  const nodes = answer?.totals.nodes;
  const gone = draft.cards.filter(({ change }) => change === 'gone').length;
  return [
    ['Dataset id', dataset],
    ['As of', asOf === undefined ? 'now' : instantText(endOf(asOf))],
    ['Changes since', since && instantText(endOf(since))],
    ['Levels', `${data.toLowerCase()}s and ${actors.toLowerCase()}s`],
    ['Hidden', [...masks, ends ? 'all but the ends' : ''].filter(Boolean).join(', ') || undefined],
    [
      'Drawn',
      `${(draft.nodes - gone).toLocaleString('en')} of ${nodes?.toLocaleString('en') ?? 'the nearest'} nodes${gone > 0 ? `, ${gone.toLocaleString('en')} that are gone` : ''}, up to ${depth} hops`,
    ],
    ['Missing', missingOf(answer, changes?.difference.notes)],
  ];
}

function missingOf(answer: Drawing['answer'], notes: readonly string[] = []): string | undefined {
  const beyond = answer?.totals.beyond ?? 0;
  const parts = [
    beyond > 0 && `at least ${beyond.toLocaleString('en')} nodes further away`,
    ...(answer?.notes ?? []),
    ...notes,
  ];
  return parts.filter(Boolean).join(' ') || undefined;
}
