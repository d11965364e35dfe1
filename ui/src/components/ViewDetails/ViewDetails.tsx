import { useState } from 'react';
import type { ViewInput } from '../../api/generated/graphql';
import { parseId } from '../../graph/ids';
import { boxNamed, type Named, type ViewLine, type ViewScene } from '../../graph/viewScene';
import { useViewLink } from '../../hooks/useView';
import { HOME } from '../../location/location';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import styles from './ViewDetails.module.css';

interface ViewDetailsProps {
  box: Named;
  scene: ViewScene;
  /** What the view was asked. */
  view: ViewInput;
}

/** A node of a view: what it is, and what each of its links stands for. */
export function ViewDetails({ box, scene, view }: ViewDetailsProps) {
  const titleOf = (id: string): string => {
    const found = boxNamed(scene, id);
    return found && found.id !== found.box ? `${found.title} in ${titleOf(found.box)}` : (found?.title ?? id);
  };
  const links = scene.links.filter((link) => box.ends.has(link.src) || box.ends.has(link.dst));
  return (
    <section className={styles.details} aria-label={`Details of ${box.title}`}>
      <h3>{box.title}</h3>
      <p className={styles.name}>{box.name}</p>
      <p>{box.caption}</p>
      {box.mixes && (
        <p className={styles.mixes}>
          Not everything that enters it leaves it by every link: a way drawn through it may be none of data.
        </p>
      )}
      {parseId(box.id).kind === 'dataset' && !box.focus && (
        <Link to={{ ...HOME, dataset: box.id }}>Open the dataset</Link>
      )}
      <ul>
        {links.map((link) => (
          <li key={link.id}>
            {box.ends.has(link.src) ? `flows into ${titleOf(link.dst)}` : `comes from ${titleOf(link.src)}`}
            {link.label && <LinkMembers link={link} view={view} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function LinkMembers({ link, view }: { link: ViewLine; view: ViewInput }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      {' '}
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {link.label}
      </button>
      {open && <Expanded link={link} view={view} />}
    </>
  );
}

function Expanded({ link, view }: { link: ViewLine; view: ViewInput }) {
  const { data, error } = useViewLink(view, link.src, link.dst);
  if (error) return <ErrorNote error={error} />;
  if (!data) return <p>…</p>;
  const unnamed = data.maskedTotal - data.masked.length;
  return (
    <ul>
      {data.masked.map((node) => (
        <li key={node.id}>
          {node.kind.toLowerCase()} {node.name}
        </li>
      ))}
      {unnamed > 0 && <li>and {unnamed.toLocaleString('en')} more that are not named here</li>}
      {data.total > 1 && <li>{data.total.toLocaleString('en')} pairs of members</li>}
    </ul>
  );
}
