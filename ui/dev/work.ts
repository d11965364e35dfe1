/** Replays, large traces and recaptures of the development world: while they do not proceed, they stay at their first step. */
export interface Work {
  proceeds: boolean;
}
