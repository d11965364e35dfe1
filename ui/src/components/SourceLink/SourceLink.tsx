import type { CodeFragment } from '../../api/generated/graphql';

interface SourceLinkProps {
  place: NonNullable<CodeFragment['sourcePlace']>;
}

/** The place of a job's source code, with its commit. The text of a producer is a link only if the service found a web address in it. */
export function SourceLink({ place: { url, stated, repository, path, version, branch, tag } }: SourceLinkProps) {
  const text = path ?? stated ?? repository ?? '';
  const at = [tag ?? branch, version?.slice(0, 12)].filter(Boolean).join(', ');
  return (
    <>
      {url ? (
        // The repository is another system, so it does not learn the address of this page.
        <a href={url} target="_blank" rel="noopener noreferrer">
          {text}
        </a>
      ) : (
        <span>{text}</span>
      )}
      {at && (
        <>
          {' '}
          at <code title={version ?? undefined}>{at}</code>
        </>
      )}
    </>
  );
}
