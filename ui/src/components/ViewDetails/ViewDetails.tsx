import { useState } from 'react';
import type { ViewInput } from '../../api/generated/graphql';
import { parseId } from '../../graph/ids';
import type { ViewBox, ViewLine, ViewScene } from '../../graph/viewScene';
import { useViewLink } from '../../hooks/useView';
import { HOME } from '../../location/location';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import styles from './ViewDetails.module.css';

interface ViewDetailsProps {
  box: ViewBox;
  scene: ViewScene;
  /** What the view was asked. */
  view: ViewInput;
}

/** A node of a view: what it is, and what each of its links stands for. */
export function ViewDetails({ box, scene, view }: ViewDetailsProps) {
  const titleOf = (id: string) => scene.nodes.find((node) => node.id === id)?.title ?? id;
  const links = scene.links.filter((link) => link.src === box.id || link.dst === box.id);
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
            {link.src === box.id ? `flows into ${titleOf(link.dst)}` : `comes from ${titleOf(link.src)}`}
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
