import { useId, useState } from 'react';
import type { ReplayEdit } from '../../api/generated/graphql';

/** New values of columns, one line for each column. `columns` are suggestions. */
export function Edits({ columns }: { columns: readonly string[] }) {
  const list = useId();
  const [lines, setLines] = useState([0]);
  return (
    <fieldset>
      <legend>New values</legend>
      <datalist id={list}>
        {columns.map((column) => (
          <option key={column} value={column} />
        ))}
      </datalist>
      {lines.map((line, index) => (
        <fieldset key={line} aria-label={`New value ${index + 1}`}>
          <label>
            Column
            <input name="column" required list={list} spellCheck={false} autoComplete="off" />
          </label>
          <label>
            Value
            <input name="value" spellCheck={false} autoComplete="off" />
          </label>
          <label>
            <input type="checkbox" name="null" value={index} /> NULL
          </label>
          {lines.length > 1 && (
            <button
              type="button"
              aria-label={`Remove new value ${index + 1}`}
              onClick={() => setLines(lines.filter((each) => each !== line))}
            >
              Remove
            </button>
          )}
        </fieldset>
      ))}
      <button type="button" onClick={() => setLines([...lines, (lines.at(-1) ?? 0) + 1])}>
        Another column
      </button>
    </fieldset>
  );
}

export function editsOf(form: HTMLFormElement): ReplayEdit[] {
  const fields = new FormData(form);
  const nulls = new Set(fields.getAll('null'));
  const values = fields.getAll('value');
  return fields.getAll('column').map((column, index) => ({
    column: String(column).trim(),
    value: nulls.has(String(index)) ? null : String(values[index] ?? ''),
  }));
}
