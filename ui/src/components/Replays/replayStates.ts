import type { ReplayKind, ReplayState } from '../../api/generated/graphql';
import type { Tone } from '../Badge/Badge';
import { KINDS } from '../ReplayForm/kinds';

export const REFRESH_MS = 1000;
export const TONE: Record<ReplayState, Tone> = { QUEUED: 'plain', RUNNING: 'accent', COMPLETE: 'good', FAILED: 'bad' };

export function kindText(kind: ReplayKind): string {
  return KINDS.find((each) => each.kind === kind)?.label ?? kind.toLowerCase();
}
