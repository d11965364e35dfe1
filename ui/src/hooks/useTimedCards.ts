import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { LineageDocument, type LineageQuery } from '../api/generated/first/graphql';
import { queryOf } from '../api/query';
import { properties, text } from '../facts/read';
import { cardTime } from '../facts/time';
import type { Card } from '../graph/scene';

/** Times are asked for so many cards. The captions of further cards keep the end of the id. */
const MAX_CARDS = 300;
const NO_TIMES: ReadonlyMap<string, string> = new Map();

/** Name the versions and runs of a drawing by their time, because the id of a run says nothing. The drawing does not wait for the times. */
export function useTimedCards(cards: readonly Card[]): readonly Card[] {
  const ids = cards
    .filter(isRunOrVersion)
    .slice(0, MAX_CARDS)
    .map(({ id }) => id)
    .toSorted();
  const { data = NO_TIMES } = useQuery({
    ...queryOf(LineageDocument, { focus: ids, direction: 'BOTH', depth: 0, kinds: ['READS'] }),
    select: timesOf,
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  return useMemo(() => {
    if (data.size === 0) return cards;
    return cards.map((card) => {
      const time = data.get(card.id);
      return time === undefined ? card : { ...card, caption: card.caption.replace(ID_END, cardTime(time)) };
    });
  }, [cards, data]);
}

/** The end of an id in a caption. */
const ID_END = /…\S{6}/;

function isRunOrVersion({ kind }: Card): boolean {
  return kind === 'VERSION' || kind === 'RUN';
}

/** The instant at which a version was written or a run started. */
function timesOf({ lineage }: LineageQuery): ReadonlyMap<string, string> {
  return new Map(
    lineage.nodes.flatMap(({ id, properties: own }): [string, string][] => {
      const facts = properties(own);
      const time = text(facts.writtenAt) ?? text(facts.startedAt);
      return time === undefined ? [] : [[id, time]];
    }),
  );
}
