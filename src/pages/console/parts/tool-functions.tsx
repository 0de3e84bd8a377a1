/** The functions of a tool: turned on one by one, with their schemas, who approves them and what is seen of them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, type ApiFailure } from '../api.ts';
import type { Tool } from '../types.ts';
import { Area, Check, Choice, Input } from './field.tsx';
import { ListField, type RowActs } from './list-field.tsx';
import { FormEnd, useSubmit } from './submit.tsx';
import { MomentText } from './time.tsx';
import {
  approvals,
  emptyFunction,
  functionBodiesOf,
  functionDraftsOf,
  schemaFault,
  shows,
  type FunctionDraft,
} from './tool-draft.ts';

interface Options {
  readonly tool: Tool;
  readonly path: string;
  readonly stored: (tool: Tool) => void;
}

export function ToolFunctions({ tool, path, stored }: Options) {
  const saved = functionDraftsOf(tool);
  const [draft, setDraft] = useState<readonly FunctionDraft[] | null>(null);
  useEffect(() => setDraft(null), [tool.functions]);
  const drafts = draft ?? saved;
  const bodies = functionBodiesOf(tool.kind, drafts);
  const sending = useSubmit(async () =>
    stored(await ask<Tool>(path, { method: 'PATCH', body: { functions: bodies } })),
  );
  const dirty = draft !== null && JSON.stringify(draft) !== JSON.stringify(saved);
  const isMcp = tool.kind === 'mcp';
  return (
    <section class="section" aria-label="Functions" tabIndex={-1}>
      <h2>Functions</h2>
      {drafts.length === 0 && (
        <p class="note">
          {isMcp
            ? 'None yet. Refresh reads the server’s list; what is new is off until you turn it on.'
            : 'None yet. A model calls functions: give each a name, a sentence that says when to call it, and a schema of its arguments.'}
        </p>
      )}
      <form class="form" onSubmit={sending.submit}>
        <ListField rows={drafts} change={setDraft} add={isMcp ? null : 'Add a function'} added={emptyFunction}>
          {(one, index, acts) => (
            <OneFunction
              of={one}
              index={index}
              fixed={isMcp}
              isNew={index >= saved.length}
              refused={refusedOf(tool, one)}
              failure={sending.failure}
              acts={acts}
            />
          )}
        </ListField>
        {dirty && (
          <FormEnd sending={sending} act="Save functions" cancel={() => setDraft(null)} disabled={bodies === null} />
        )}
      </form>
    </section>
  );
}

type Quarantine = NonNullable<Tool['functions'][number]['quarantined']>;

const refusedOf = ({ functions }: Tool, { name }: FunctionDraft): Quarantine | null =>
  functions.find((one) => one.name === name)?.quarantined ?? null;

interface OneOptions {
  readonly of: FunctionDraft;
  readonly index: number;
  /** Name, description and schema are the server's. */
  readonly fixed: boolean;
  readonly isNew: boolean;
  /** The provider that refuses its definition as it is saved; null where none does. */
  readonly refused: Quarantine | null;
  readonly failure: ApiFailure | null;
  readonly acts: RowActs<FunctionDraft>;
}

function OneFunction({ of, index, fixed, isNew, refused, failure, acts: { set, remove } }: OneOptions) {
  const details = useRef<HTMLDetailsElement>(null);
  // A field that the server refused is seen.
  useEffect(
    () =>
      void (
        failure !== null &&
        details.current?.querySelector('[aria-invalid="true"]') &&
        (details.current.open = true)
      ),
    [failure],
  );
  const named = of.name === '' ? 'new function' : of.name;
  return (
    <article class="function" aria-label={named}>
      <Check
        label={<code>{named}</code>}
        checked={of.enabled}
        onValue={(enabled) => set({ enabled })}
        note={of.enabled ? of.description : `Off: no model is offered it. ${of.description}`}
      />
      {refused !== null && (
        <p class="banner" role="note">
          The provider <code>{refused.provider}</code> refuses this definition since <MomentText at={refused.at} />. Its
          models are not offered the function, and are offered the others. Simplify the schema; it is tried again after
          an hour.
        </p>
      )}
      <details ref={details} open={isNew}>
        <summary>
          Settings<span class="visually-hidden"> of {named}</span>
        </summary>
        <div class="stack-wide">
          {fixed ? (
            <pre class="json" tabIndex={0} aria-label="Argument schema">
              {of.parameters}
            </pre>
          ) : (
            <>
              <Input
                label="Function’s name"
                path={`functions[${index}].name`}
                value={of.name}
                onValue={(name) => set({ name })}
                required
                pattern="[A-Za-z0-9_\-]{1,64}"
                spellcheck={false}
                autocomplete="off"
                failure={failure}
                note="Letters, digits, _ and -."
              />
              <Area
                label="When to call it"
                path={`functions[${index}].description`}
                rows={2}
                value={of.description}
                onValue={(description) => set({ description })}
                failure={failure}
                note="The model reads this."
              />
              <Area
                label="Argument schema"
                path={`functions[${index}].parameters`}
                rows={8}
                value={of.parameters}
                onValue={(parameters) => set({ parameters })}
                failure={failure}
                fault={schemaFault(of.parameters)}
                note="JSON Schema 2020-12 of an object."
                code
              />
            </>
          )}
          <div class="pair">
            <Choice
              label="Requires approval"
              value={of.approval}
              onValue={(approval) => set({ approval })}
              choices={[['', 'As the tool says'], ...approvals]}
            />
            <Choice
              label="What callers see"
              value={of.show}
              onValue={(show) => set({ show })}
              choices={[['', 'As the tool says'], ...shows]}
            />
          </div>
          {!fixed && <p>{remove(`the function ${named}`)}</p>}
        </div>
      </details>
    </article>
  );
}
