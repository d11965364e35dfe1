import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { BlocksDocument } from '../../api/generated/first/graphql';
import { CompactBlocksDocument, type CompactBlocksMutation } from '../../api/generated/graphql';
import { keyOf } from '../../api/query';
import { bytesText } from '../../facts/size';
import { asSentence } from '../../facts/text';
import { useChange } from '../../hooks/useChange';
import styles from '../../styles/sections.module.css';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote, Note } from '../Note/Note';
import { RestoreButton } from './RestoreButton';

type Plan = CompactBlocksMutation['compactBlocks'];

const REFRESH_MS = 3000;

/** What forbids a merge of the current version into one block, and the button that begins the merge. */
export function Compaction({ dataset }: { dataset: string }) {
  const client = useQueryClient();
  const { mutate, data, error, isPending, variables } = useChange(CompactBlocksDocument);
  const plan = data?.compactBlocks;
  const state = plan?.state;
  // The service merges in the background, so the page asks until the state is final.
  useEffect(() => {
    if (state === 'complete') void client.invalidateQueries({ queryKey: keyOf(BlocksDocument) });
    if (state !== 'running' || isPending) return undefined;
    const timer = setTimeout(() => mutate({ dataset, apply: false }), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [state, isPending, client, mutate, dataset]);
  return (
    <section className={styles.section} aria-labelledby="compaction">
      <h2 id="compaction">Merge blocks</h2>
      <p className={styles.lead}>
        A merge writes the base and the deltas of a Parquet dataset into one base. Traces still end at the same records.
      </p>
      <p className={styles.actions}>
        <button
          type="button"
          disabled={isPending || state === 'running'}
          onClick={() => mutate({ dataset, apply: false })}
        >
          {isPending && !variables.apply ? 'Planning …' : 'Plan a merge'}
        </button>
      </p>
      {error && <ErrorNote error={error} />}
      {plan && <PlanView plan={plan} onApply={() => mutate({ dataset, apply: true })} />}
    </section>
  );
}

function PlanView({ plan, onApply }: { plan: Plan; onApply: () => void }) {
  const { id, state, error, blocks, files, bytes, reasons, notes } = plan;
  const size = `${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}, ${bytesText(bytes)}`;
  const mayBegin = reasons.length === 0 && blocks.length > 1 && state !== 'running';
  return (
    <>
      <p className={styles.lead} role="status">
        {state === 'running' && 'The blocks are being merged. '}
        {state === 'complete' && 'The merge is complete. '}
        The current version has {blocks.length === 1 ? 'block' : 'blocks'} {blocks.join(', ') || 'none'}: {size}.
      </p>
      {error && <Note tone="bad" title={asSentence(error)} />}
      {reasons.length > 0 && (
        <Note title="The blocks cannot be merged now.">
          {reasons.map((reason) => (
            <p key={reason}>{asSentence(reason)}</p>
          ))}
        </Note>
      )}
      {notes.map((note) => (
        <Note key={note}>{asSentence(note)}</Note>
      ))}
      <p className={styles.actions}>
        {mayBegin && <ConfirmButton label="Merge" object={`${blocks.length} blocks`} onConfirm={onApply} />}
        {id && state === 'complete' && <RestoreButton id={id} />}
      </p>
    </>
  );
}
