/** A list in a form: its rows are changed in place, added, removed and moved up. */
import { Fragment, type ComponentChildren, type VNode } from 'preact';

interface Options<Row> {
  readonly rows: readonly Row[];
  readonly change: (rows: readonly Row[]) => void;
  /** Label of the button that adds a row, as in "Add a field"; null for no button. */
  readonly add: string | null;
  readonly added: Row;
  /** Whether the button is drawn without a border. */
  readonly quiet?: boolean;
  readonly fault?: string | null;
  readonly children: (row: Row, index: number, acts: RowActs<Row>) => ComponentChildren;
}

/** Changes a row. `name` says which one to a screen reader, as in "Remove fallback 2". */
export interface RowActs<Row> {
  readonly set: (fields: Partial<Row>) => void;
  readonly remove: (name: string, label?: string) => VNode;
  /** Null for the first row. */
  readonly moveUp: (name: string) => VNode | null;
}

export function ListField<Row extends object>({ rows, change, add, added, quiet, fault, children }: Options<Row>) {
  const button = (label: string, name: string, after: () => readonly Row[]) => (
    <button
      type="button"
      class="quiet"
      aria-label={`${label} ${name}`}
      onClick={({ currentTarget }) => {
        // The button is gone after the change: the focus goes to the group around the list.
        const group = currentTarget.closest<HTMLElement>('[tabindex="-1"]');
        change(after());
        group?.focus();
      }}
    >
      {label}
    </button>
  );
  return (
    <>
      {rows.map((row, index) => (
        <Fragment key={index}>
          {children(row, index, {
            set: (fields) => change(rows.with(index, { ...row, ...fields })),
            remove: (name, label = 'Remove') => button(label, name, () => rows.toSpliced(index, 1)),
            moveUp: (name) =>
              index === 0
                ? null
                : button('Move up', name, () => rows.with(index - 1, row).with(index, rows[index - 1]!)),
          })}
        </Fragment>
      ))}
      {fault != null && <small class="fault">{fault}</small>}
      {add !== null && (
        <p>
          <button type="button" class={quiet ? 'quiet' : undefined} onClick={() => change([...rows, added])}>
            {add}
          </button>
        </p>
      )}
    </>
  );
}
