import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { CarriedTagsDocument, type CarriedTagsQuery, DescribeDocument, type Way } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import styles from '../../styles/sections.module.css';
import { NodeLink, wordsOf } from '../NodeLink/NodeLink';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

const SHOWN = 200;
const WORDS: Record<Way, string> = {
  DIRECT: 'values flow there',
  MASKED: 'hidden on the way',
  INDIRECT: 'only decides about rows',
};

const STATES: Record<ReachedTag['state'], string> = { BORNE: 'yes', REFUSED: 'refused', PROPOSED: 'no' };

type ReachedTag = CarriedTagsQuery['carriedTags']['tags'][number];

/** The columns and datasets that the data of tagged columns reaches. */
export function CarriedTags() {
  const [tag, setTag] = useState<string>();
  const { scopes } = useSession();
  const { data, error, refetch } = useQuery({
    ...queryOf(CarriedTagsDocument, { tag: tag ?? null, first: SHOWN }),
    enabled: tag !== undefined,
    retry: false,
  });
  const { tags = [], total = 0 } = data?.carriedTags ?? {};
  return (
    <section className={styles.section} aria-labelledby="tags">
      <h2 id="tags">Where tagged data flows</h2>
      <form
        className={styles.form}
        aria-label="Follow a tag"
        onSubmit={(event) => setTag(readForm(event)('tag') ?? '')}
      >
        <label>
          Tag
          <input name="tag" required maxLength={200} placeholder="pii" spellCheck={false} autoComplete="off" />
        </label>
        <button type="submit">Follow the tag</button>
      </form>
      {error && <ErrorNote error={error} onRetry={() => refetch()} />}
      {tag !== undefined && !data && !error && <Skeleton label="Following the tag" rows={3} />}
      {data && (
        <p className={styles.lead} role="status">
          {total === 0
            ? `No column with the tag ${tag} flows into another.`
            : `${total.toLocaleString('en')} columns and datasets get data of columns with the tag ${tag}.`}
          {total > tags.length && ` These are the first ${tags.length.toLocaleString('en')}.`}
        </p>
      )}
      {tags.length > 0 && (
        <Table
          label="Columns and datasets that the tag reaches"
          titles={['Reached', 'From', 'How', 'Tagged itself']}
          rows={tags.map((reached) => ({
            key: `${reached.node} ${reached.tag}`,
            cells: [
              <NodeLink key="node" id={reached.node} />,
              <NodeLink key="origin" id={reached.origin} />,
              `${WORDS[reached.way]}${reached.certain ? '' : ', perhaps'}`,
              reached.state === 'PROPOSED' && scopes.includes('declare') ? (
                <Proposal key="state" reached={reached} />
              ) : (
                STATES[reached.state]
              ),
            ],
          }))}
        />
      )}
    </section>
  );
}

/** Gives a tag to the node that it reaches, or refuses that it ever has it. */
function Proposal({ reached: { node, tag } }: { reached: ReachedTag }) {
  const { mutate, isPending, error } = useChange(DescribeDocument, { stale: [CarriedTagsDocument] });
  const answer = (removed: boolean) => mutate({ node, changes: [{ aspect: 'TAG', value: tag, removed }] });
  const words = `${tag}: ${wordsOf(node)}`;
  return (
    <>
      <button type="button" aria-label={`Tag it with ${words}`} disabled={isPending} onClick={() => answer(false)}>
        Tag it
      </button>{' '}
      <button type="button" aria-label={`Refuse ${words}`} disabled={isPending} onClick={() => answer(true)}>
        Refuse
      </button>
      {error && <ErrorNote error={error} />}
    </>
  );
}
