import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import {
  CancelCulpritSearchDocument,
  CulpritSearchesDocument,
  type CulpritSearchesQuery,
  type CulpritSearchKind,
} from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import type { Document } from '../../api/request';
import { readForm } from '../../facts/forms';
import { useChange } from '../../hooks/useChange';
import { useSession } from '../../hooks/useSession';
import { isRunning } from '../../hooks/useTraceJob';
import styles from '../../styles/sections.module.css';
import { CulpritAnswer } from '../CulpritAnswer/CulpritAnswer';
import { ErrorNote } from '../Note/Note';

const REFRESH_MS = 1000;

export type Search = CulpritSearchesQuery['culpritSearches'][number];

interface SearchPanelProps<Result, Variables> {
  kind: CulpritSearchKind;
  /** Id of the run or dataset that the search is about. */
  subject: string;
  title: string;
  /** Id of the title, for links to it. */
  id?: string;
  /** The text of the button that starts the first search. */
  start: string;
  /** Whether a search can begin. */
  isPossible?: boolean;
  /** What the service does, for the reader who is about to start it. */
  note: string;
  document: Document<Result, Variables>;
  /** Read the variables of the search from the fields. */
  variables: (field: (name: string) => string | null) => Variables;
  /** The fields of the form. */
  children?: ReactNode;
  /** Shows a search that has ended. */
  Answer?: (props: { search: Search }) => ReactNode;
}

/**
 * Work of the service that a session with the scope `replay` starts and cancels (`headwater serve --write-link`): its form, its progress and
 * its answer. Other sessions see searches that others started.
 */
export function SearchPanel<Result, Variables>({
  kind,
  subject,
  title,
  id,
  start: startText,
  isPossible = true,
  note,
  document,
  variables,
  children,
  Answer,
}: SearchPanelProps<Result, Variables>) {
  const { scopes } = useSession();
  const { data } = useQuery({
    ...queryOf(CulpritSearchesDocument, {}),
    refetchInterval: (query) =>
      query.state.data?.culpritSearches.some(({ state }) => isRunning(state)) ? REFRESH_MS : false,
  });
  const stale = [CulpritSearchesDocument];
  const start = useChange(document, { stale });
  const cancel = useChange(CancelCulpritSearchDocument, { stale });
  const search = data?.culpritSearches.find((each) => each.kind === kind && each.subject === subject);
  const mayRun = isPossible && scopes.includes('replay');
  if (!search && !mayRun) return null;
  const isSearching = isRunning(search?.state);
  const error = start.error ?? cancel.error;
  return (
    <>
      <h2 id={id}>{title}</h2>
      {search &&
        (Answer && search.state === 'COMPLETE' ? <Answer search={search} /> : <CulpritAnswer search={search} />)}
      {mayRun && (
        <form className={styles.form} aria-label={title} onSubmit={(event) => start.mutate(variables(readForm(event)))}>
          {!isSearching && children}
          <fieldset>
            {search && isSearching ? (
              <button type="button" disabled={cancel.isPending} onClick={() => cancel.mutate({ id: search.id })}>
                Cancel the search
              </button>
            ) : (
              <button type="submit" disabled={start.isPending}>
                {search ? 'Search again' : startText}
              </button>
            )}
          </fieldset>
          <p>{note}</p>
          {error && <ErrorNote error={error} />}
        </form>
      )}
    </>
  );
}
