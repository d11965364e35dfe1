import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { CarriedTagsDocument, type Way } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import styles from '../../styles/sections.module.css';
import { NodeLink } from '../NodeLink/NodeLink';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';

const SHOWN = 200;
const WORDS: Record<Way, string> = {
  DIRECT: 'values flow there',
  MASKED: 'hidden on the way',
  INDIRECT: 'only decides about rows',
};

/** The columns and datasets that the data of tagged columns reaches. */
export function CarriedTags() {
  const [tag, setTag] = useState<string>();
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
          rows={tags.map(({ node, tag: carried, origin, way, certain, state }) => ({
            key: `${node} ${carried}`,
            cells: [
              <NodeLink key="node" id={node} />,
              <NodeLink key="origin" id={origin} />,
              `${WORDS[way]}${certain ? '' : ', perhaps'}`,
              state === 'BORNE' ? 'yes' : state === 'REFUSED' ? 'refused' : 'no',
            ],
          }))}
        />
      )}
    </section>
  );
}
