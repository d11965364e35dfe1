/** The actions and the state that all cards of a graph share. */
import { createContext, useContext } from 'react';
import type { NodeKind } from '../../api/generated/graphql';
import type { Side } from '../../graph/neighbourhood';
import type { NodeFacts } from '../../hooks/useFacts';

export interface GraphActions {
  /** Id of the card, column or link whose details are open. */
  selected: string | undefined;
  facts: ReadonlyMap<string, NodeFacts>;
  onSelect: (id: string) => void;
  onToggle: (id: string) => void;
  onHover: (id: string | undefined) => void;
  /** Absent if the drawing has no space for more cards. */
  onGrow: ((id: string, side: Side) => void) | undefined;
  /** Draw the content of a card inside it. Absent in a trace. */
  onEnter: ((id: string, level: NodeKind) => void) | undefined;
  /** Draw a box as a card again. */
  onLeave: ((id: string) => void) | undefined;
  /** Hide the nodes that a mask names. Absent in a trace. */
  onMask: ((mask: string) => void) | undefined;
  /** Show only the ways between a node and the focus. Absent in a trace. */
  onBetween: ((id: string) => void) | undefined;
}

const NOTHING: GraphActions = {
  selected: undefined,
  facts: new Map(),
  onSelect: () => {},
  onToggle: () => {},
  onHover: () => {},
  onGrow: undefined,
  onEnter: undefined,
  onLeave: undefined,
  onMask: undefined,
  onBetween: undefined,
};

export const GraphContext = createContext(NOTHING);

export function useGraph(): GraphActions {
  return useContext(GraphContext);
}
