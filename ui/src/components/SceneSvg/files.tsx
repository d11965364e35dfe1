/** Files of a drawing. Everything is made in the page: no part of a drawing leaves it. */
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { downloadBlob, downloadText, tableAsCsv } from '../../facts/files';
import { type Scene, titleOfEnd } from '../../graph/scene';
import type { ExportKind } from '../ExportMenu/ExportMenu';
import { SceneSvg } from './SceneSvg';

export interface DrawingFile {
  scene: Scene;
  /** Name of the files, without their ends. */
  name: string;
  /** Lines above the drawing: the question, its time, and what is missing. */
  heading: readonly string[];
}

/** Pixels of a file for one pixel of the drawing. */
const SCALE = 2;
/** Browsers refuse larger canvases. */
const MOST_PIXELS = 12_000;

/** The files of a drawing. `read` returns the drawing at the time of the click. */
export function drawingKinds(read: () => DrawingFile | undefined): ExportKind[] {
  const save = (action: (file: DrawingFile) => void) => () => {
    const file = read();
    if (file) action(file);
  };
  return [
    {
      label: 'Drawing as SVG',
      hint: 'The whole drawing, also outside of the window, as a picture that can be enlarged',
      save: save((file) => downloadText(`${file.name}.svg`, 'image/svg+xml', drawingAsSvg(file))),
    },
    { label: 'Drawing as PNG', hint: 'The whole drawing as a picture', save: save(savePng) },
    {
      label: 'Links as CSV',
      hint: 'The cards of the drawing and the links between them, with ids',
      save: save((file) => downloadText(`${file.name}.csv`, 'text/csv', linksAsCsv(file.scene))),
    },
  ];
}

export function drawingAsSvg({ scene, heading }: Pick<DrawingFile, 'scene' | 'heading'>): string {
  const holder = document.createElement('div');
  const root = createRoot(holder);
  flushSync(() => root.render(<SceneSvg scene={scene} heading={heading} />));
  const picture = holder.firstElementChild;
  const text = picture ? new XMLSerializer().serializeToString(picture) : '';
  root.unmount();
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

function savePng(file: DrawingFile): void {
  const picture = new Image();
  picture.onload = () => {
    const { naturalWidth: width, naturalHeight: height } = picture;
    const scale = Math.min(SCALE, MOST_PIXELS / Math.max(width, height, 1));
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && downloadBlob(`${file.name}.png`, blob), 'image/png');
  };
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawingAsSvg(file))}`;
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
