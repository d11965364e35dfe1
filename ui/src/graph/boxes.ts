export interface Box {
  id: string;
  width: number;
  height: number;
}

/** A box with the coordinates of its upper left corner. */
export interface PlacedBox extends Box {
  x: number;
  y: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  boxes: Map<string, PlacedBox>;
  /** The points between columns of boxes that a long link passes, by `linkKey`. Short links have none. */
  routes: Map<string, Point[]>;
  width: number;
  height: number;
}

export interface Ends {
  src: string;
  dst: string;
}

export interface Gaps {
  rank: number;
  box: number;
}

export function linkKey({ src, dst }: Ends): string {
  return `${src} ${dst}`;
}
