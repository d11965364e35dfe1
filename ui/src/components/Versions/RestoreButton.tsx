import { BlocksDocument } from '../../api/generated/first/graphql';
import { RestoreBlocksDocument } from '../../api/generated/graphql';
import { useChange } from '../../hooks/useChange';
import { ConfirmButton } from '../ConfirmButton/ConfirmButton';
import { ErrorNote } from '../Note/Note';

/** Puts the old files of a collection or a merge back. */
export function RestoreButton({ id }: { id: string }) {
  const restore = useChange(RestoreBlocksDocument, { stale: [BlocksDocument] });
  if (restore.error) return <ErrorNote error={restore.error} />;
  if (restore.data) return <span role="status">The files are back in {restore.data.restoreBlocks}.</span>;
  return (
    <ConfirmButton
      label="Put back"
      object="the old files"
      disabled={restore.isPending}
      onConfirm={() => restore.mutate({ id })}
    />
  );
}
