import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { CreateTriggerDocument, SearchDocument, TriggersDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { readForm } from '../../facts/forms';
import { jobTitle } from '../../graph/names';
import { useChange } from '../../hooks/useChange';
import { navigate } from '../../hooks/useLocation';
import styles from '../../styles/sections.module.css';
import { ErrorNote } from '../Note/Note';
import { ACTIONS, CONDITIONS, type Kind, makeDefinition, type Part } from './parts';
import { TRIGGERS } from './TriggersPage';

const SUGGESTIONS = 200;

/** The form that creates a trigger. */
export function TriggerForm() {
  const create = useChange(CreateTriggerDocument, {
    stale: [TriggersDocument],
    onSuccess: ({ createTrigger }) => navigate({ ...TRIGGERS, item: createTrigger.name }),
  });
  return (
    <section className={styles.section} aria-labelledby="new-trigger">
      <h2 id="new-trigger">New trigger</h2>
      <Suggestions />
      <form
        className={styles.form}
        aria-label="Create a trigger"
        onSubmit={(event) => create.mutate({ definition: makeDefinition(readForm(event)) })}
      >
        <fieldset>
          <label>
            Name
            <input name="name" required maxLength={64} spellCheck={false} autoComplete="off" />
          </label>
          <label>
            Pause after each cause
            <input name="cool_down" placeholder="none, or 10m" spellCheck={false} autoComplete="off" />
          </label>
        </fieldset>
        <Statement legend="When" prefix="when" kinds={CONDITIONS} />
        <Statement legend="Then" prefix="do" kinds={ACTIONS} />
        <fieldset>
          <button type="submit" disabled={create.isPending}>
            Create the trigger
          </button>
        </fieldset>
        {create.error && (
          <fieldset>
            <ErrorNote error={create.error} />
          </fieldset>
        )}
      </form>
    </section>
  );
}

interface StatementProps {
  legend: string;
  /** Prefix of the names of the fields. */
  prefix: string;
  kinds: readonly Kind[];
}

/** The choice of a kind, and the fields for its parts. */
function Statement({ legend, prefix, kinds }: StatementProps) {
  const [name, setName] = useState(kinds[0]?.name ?? '');
  return (
    <fieldset>
      <legend className="visually-hidden">{legend}</legend>
      <label>
        {legend}
        <select name={prefix} value={name} onChange={(event) => setName(event.target.value)}>
          {kinds.map((kind) => (
            <option key={kind.name} value={kind.name}>
              {kind.label}
            </option>
          ))}
        </select>
      </label>
      {kinds
        .find((kind) => kind.name === name)
        ?.parts.map((part) => (
          <PartField key={`${name} ${part.name}`} field={`${prefix}.${part.name}`} part={part} />
        ))}
    </fieldset>
  );
}

function PartField({ field, part }: { field: string; part: Part }) {
  const { label, isRequired, placeholder, options, suggest } = part;
  if (options)
    return (
      <label>
        {label}
        <select name={field}>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      </label>
    );
  return (
    <label>
      {label}
      <input
        name={field}
        required={isRequired}
        placeholder={placeholder}
        list={suggest && `known-${suggest}`}
        spellCheck={false}
        autoComplete="off"
      />
    </label>
  );
}

/** The names of datasets, jobs and triggers as suggestions for the fields. */
function Suggestions() {
  const search = { text: '', first: SUGGESTIONS, after: null };
  const datasets = useQuery(queryOf(SearchDocument, { ...search, kinds: ['DATASET'] })).data?.search.nodes ?? [];
  const pipelines = useQuery(queryOf(SearchDocument, { ...search, kinds: ['PIPELINE'] })).data?.search.nodes ?? [];
  const triggers = useQuery(queryOf(TriggersDocument, {})).data?.triggers ?? [];
  const names = {
    datasets: datasets.map(({ name }) => name),
    jobs: pipelines.map(({ name }) => jobTitle(name)),
    triggers: triggers.map(({ name }) => name),
  };
  return Object.entries(names).map(([kind, options]) => (
    <datalist key={kind} id={`known-${kind}`}>
      {[...new Set(options)].map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  ));
}
