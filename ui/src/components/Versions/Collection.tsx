import { BlocksDocument } from '../../api/generated/first/graphql';
import { CollectBlocksDocument, type CollectBlocksMutation } from '../../api/generated/graphql';
import { readForm } from '../../facts/forms';
import { bytesText } from '../../facts/size';
import { useChange } from '../../hooks/useChange';
import styles from '../../styles/sections.module.css';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote } from '../Note/Note';
import { Table } from '../Table/Table';
import { RestoreButton } from './RestoreButton';

type Plan = CollectBlocksMutation['collectBlocks'];

/** Which blocks may be dropped, why the others stay, and the button that moves the files of the first into the trash. */
export function Collection({ dataset }: { dataset: string }) {
  const collect = useChange(CollectBlocksDocument, { stale: [BlocksDocument] });
  const plan = collect.data?.collectBlocks;
  const { keep = 1 } = collect.variables ?? {};
  return (
    <section className={styles.section} aria-labelledby="collection">
      <h2 id="collection">Drop blocks</h2>
      <p className={styles.lead}>
        The plan says for each block whether its files may be dropped, and every reason to keep them. It changes
        nothing.
      </p>
      <form
        className={styles.form}
        aria-label="Drop blocks"
        onSubmit={(event) => collect.mutate({ dataset, keep: Number(readForm(event)('keep') ?? 1), apply: false })}
      >
        <label>
          Versions to keep
          <input name="keep" type="number" min={1} max={1000} required defaultValue={1} />
        </label>
        <button type="submit" disabled={collect.isPending}>
          {collect.isPending ? 'Planning …' : 'Plan'}
        </button>
      </form>
      {collect.error && <ErrorNote error={collect.error} />}
      {plan && <PlanView plan={plan} onApply={() => collect.mutate({ dataset, keep, apply: true })} />}
    </section>
  );
}

function PlanView({ plan: { id, trash, verdicts }, onApply }: { plan: Plan; onApply: () => void }) {
  const droppable = verdicts.filter(({ isCollectable }) => isCollectable);
  const bytes = droppable.reduce((sum, each) => sum + each.bytes, 0);
  const blocks = `${droppable.length.toLocaleString('en')} ${droppable.length === 1 ? 'block' : 'blocks'}`;
  return (
    <>
      <p className={styles.lead} role="status">
        {id ? `The files of ${blocks} moved to ${trash}.` : `${blocks} may be dropped: ${bytesText(bytes)}.`}
      </p>
      {verdicts.length > 0 && (
        <Table
          label="Blocks, and whether they may be dropped"
          titles={['Block', 'Files', 'Size', 'Kept because']}
          rows={verdicts.map((each) => ({
            key: `${each.sequence}`,
            cells: [
              each.sequence,
              each.files.toLocaleString('en'),
              bytesText(each.bytes),
              each.isCollectable ? 'nothing needs it' : each.reasons.join('; '),
            ],
            isMarked: each.isCollectable,
          }))}
        />
      )}
      <p className={styles.actions}>
        {id && <RestoreButton id={id} />}
        {!id && droppable.length > 0 && <ConfirmButton label="Drop" object={blocks} onConfirm={onApply} />}
      </p>
    </>
  );
}
