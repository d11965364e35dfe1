/** Pictures of a drawing. Their script is fetched when somebody saves one. */
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { downloadBlob, downloadText } from '../../facts/files';
import type { DrawingFile } from './files';
import { SceneSvg } from './SceneSvg';

/** Pixels of a file for one pixel of the drawing. */
const SCALE = 2;
/** Browsers refuse larger canvases. */
const MOST_PIXELS = 12_000;

export function saveSvg(file: DrawingFile): void {
  downloadText(`${file.name}.svg`, 'image/svg+xml', drawingAsSvg(file));
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

export function savePng(file: DrawingFile): void {
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
