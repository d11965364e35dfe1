import type { DescribedFragment } from '../../api/generated/graphql';
import { Badge } from '../Badge/Badge';
import styles from './Descriptions.module.css';

/** Description, owners, tags and terms of a node, as far as somebody stated them. */
export function Descriptions({ descriptions }: { descriptions: DescribedFragment['descriptions'] }) {
  const { description, owners, stewards, tags, tagValues, terms } = descriptions;
  const valued = new Set(tagValues.map((each) => each.split('=')[0]));
  const labels = [...tagValues.map((each) => each.replace('=', ': ')), ...tags.filter((tag) => !valued.has(tag))];
  return (
    <>
      {description && <p className={styles.text}>{description}</p>}
      <div className={styles.descriptions}>
        <People title="Owner" names={owners} />
        <People title="Steward" names={stewards} />
        {labels.length > 0 && (
          <p>
            <span className={styles.title}>Tags</span>
            {labels.map((label) => (
              <Badge key={label}>{label}</Badge>
            ))}
          </p>
        )}
        {terms.length > 0 && (
          <p>
            <span className={styles.title}>Terms</span>
            {terms.map((term) => (
              <Badge key={term} tone="accent">
                {term}
              </Badge>
            ))}
          </p>
        )}
      </div>
    </>
  );
}

function People({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p>
      <span className={styles.title}>{names.length === 1 ? title : `${title}s`}</span>
      {names.join(', ')}
    </p>
  );
}
