/** What is laid out. */
export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Placed extends Box {
  /** Left upper corner. */
  x: number;
  y: number;
}

export interface Layout {
  boxes: Map<string, Placed>;
  width: number;
  height: number;
}
