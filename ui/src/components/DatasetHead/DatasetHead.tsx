import { useQuery } from '@tanstack/react-query';
import { AboutDocument, DatasetHeadDocument } from '../../api/generated/first/graphql';
import { queryOf } from '../../api/query';
import { sizesOf, versionsOf } from '../../facts/datasets';
import { text } from '../../facts/read';
import { bytesText } from '../../facts/size';
import { titleOf } from '../../graph/names';
import { ActionLine } from '../ActionLine/ActionLine';
import { DescriptionEditor } from '../DescriptionEditor/DescriptionEditor';
import { Descriptions } from '../Descriptions/Descriptions';
import { Instant } from '../Instant/Instant';
import { NotifyRules } from '../NotifyRules/NotifyRules';
import styles from './DatasetHead.module.css';

/** Below the name of a dataset: its last version, and what people and tools state of it. */
export function DatasetHead({ dataset }: { dataset: string }) {
  const { data } = useQuery(queryOf(DatasetHeadDocument, { id: dataset }));
  if (!data?.node) return null;
  // A run that failed wrote no version.
  const version = versionsOf(data.versions.nodes).written[0] ?? {};
  const { rows, bytes, files } = sizesOf(version);
  const when = text(version.writtenAt);
  const sizes = [
    rows !== undefined && `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`,
    bytes !== undefined && bytesText(bytes),
    files !== undefined && `${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}`,
  ].filter(Boolean);
  return (
    <>
      {when && (
        <p className={styles.version}>
          Last written <Instant at={when} relative />
          {sizes.length > 0 && `: ${sizes.join(', ')}`}
        </p>
      )}
      <Descriptions descriptions={data.node.descriptions} />
      <ActionLine>
        <DescriptionEditor
          node={dataset}
          name={titleOf(dataset)}
          descriptions={data.node.descriptions}
          stale={[DatasetHeadDocument, AboutDocument]}
        />
        <NotifyRules subject={{ dataset }} name={titleOf(dataset)} />
      </ActionLine>
    </>
  );
}
