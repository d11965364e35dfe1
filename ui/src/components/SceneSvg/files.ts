/** Files of a drawing. Everything is made in the page: no part of a drawing leaves it. */
import { downloadText, tableAsCsv } from '../../facts/files';
import { type Scene, titleOfEnd } from '../../graph/scene';
import type { ExportKind } from '../ExportMenu/ExportMenu';

export interface DrawingFile {
  scene: Scene;
  /** Name of the files, without their ends. */
  name: string;
  /** Lines above the drawing: the question, its time, and what is missing. */
  heading: readonly string[];
}

/** The files of a drawing. `read` returns the drawing at the time of the click. */
export function drawingKinds(read: () => DrawingFile | undefined): ExportKind[] {
  const save = (action: (file: DrawingFile) => void | Promise<void>) => () => {
    const file = read();
    return file && action(file);
  };
  return [
    {
      label: 'Drawing as SVG',
      hint: 'The whole drawing, also outside of the window, as a picture that can be enlarged',
      save: save(async (file) => (await import('./pictures')).saveSvg(file)),
    },
    {
      label: 'Drawing as PNG',
      hint: 'The whole drawing as a picture',
      save: save(async (file) => (await import('./pictures')).savePng(file)),
    },
    {
      label: 'Links as CSV',
      hint: 'The cards of the drawing and the links between them, with ids',
      save: save((file) => downloadText(`${file.name}.csv`, 'text/csv', linksAsCsv(file.scene))),
    },
  ];
}

/** One row for each link, and one for each card without links. */
export function linksAsCsv(scene: Scene): string {
  const linked = new Set(scene.links.flatMap(({ srcCard, dstCard }) => [srcCard, dstCard]));
  const alone = scene.cards.filter(({ id }) => !linked.has(id));
  return tableAsCsv(
    ['source', 'target', 'source id', 'target id', 'flows', 'note'],
    [
      ...scene.links.map((link) => [
        titleOfEnd(scene, link.src),
        titleOfEnd(scene, link.dst),
        link.src,
        link.dst,
        link.weight ?? 1,
        [link.label, link.isIndirect && 'decides about rows', link.isCoarse && 'known by dataset only']
          .filter(Boolean)
          .join(', '),
      ]),
      ...alone.map(({ id, title, caption }) => [title, '', id, '', null, caption]),
    ],
  );
}
