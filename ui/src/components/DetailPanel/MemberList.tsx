import { useQuery } from '@tanstack/react-query';
import { type ViewInput, ViewLinkDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { parseId } from '../../graph/ids';
import { jobTitleOf, titleOf } from '../../graph/names';
import type { SceneLink } from '../../graph/scene';
import { ErrorNote } from '../Note/Note';

interface MemberListProps {
  link: SceneLink;
  view: ViewInput;
}

/** The flows that a link stands for, and the hidden nodes on it. */
export function MemberList({ link, view }: MemberListProps) {
  const { data, error } = useQuery(queryOf(ViewLinkDocument, { view, src: link.src, dst: link.dst }));
  if (error) return <ErrorNote error={error} />;
  if (!data) return <p>Loading …</p>;
  const { masked, maskedTotal, pairs, total } = data.viewLink;
  const rest = maskedTotal - masked.length;
  return (
    <ul>
      {masked.map((node) => (
        <li key={node.id}>
          {node.kind.toLowerCase()} {node.name}
        </li>
      ))}
      {rest > 0 && <li>and {rest.toLocaleString('en')} more hidden nodes</li>}
      {total > 1 &&
        pairs.map(({ src, dst }) => (
          <li key={`${src} ${dst}`}>
            {nameOf(src)} → {nameOf(dst)}
          </li>
        ))}
      {total > pairs.length && <li>and {(total - pairs.length).toLocaleString('en')} more pairs of members</li>}
      {total <= 1 && maskedTotal === 0 && <li>one flow, through nothing that is hidden</li>}
    </ul>
  );
}

function nameOf(id: string): string {
  const { kind, parts } = parseId(id);
  if (kind === 'job' || kind === 'pipeline') return jobTitleOf(id);
  return kind === 'dataset' ? titleOf(id) : (parts.at(-1) ?? id);
}
