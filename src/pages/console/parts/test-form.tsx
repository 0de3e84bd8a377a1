/** The fields of a test: its messages, what each is expected to lead to, and what functions return. */
import type { ApiFailure } from '../api.ts';
import type { Assistant } from '../types.ts';
import { Area, Choice, Input } from './field.tsx';
import { ListField } from './list-field.tsx';
import {
  emptyExpectation,
  emptyStep,
  expectationPath,
  kindsFor,
  type ExpectationDraft,
  type ExpectationKind,
  type NamedText,
  type ResultDraft,
  type StepDraft,
  type TestDraft,
} from './test-draft.ts';

interface Options {
  readonly draft: TestDraft;
  readonly change: (fields: Partial<TestDraft>) => void;
  readonly failure: ApiFailure | null;
  readonly fields: Assistant['visitor_fields'];
  /** The names of the functions that the assistant is offered. */
  readonly functions: readonly string[];
}

const functionsList = 'functions-of-the-assistant';

export function TestForm({ draft, change, failure, fields, functions }: Options) {
  return (
    <>
      <datalist id={functionsList}>
        {functions.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div class="pair">
        <Input
          label="Name"
          path="name"
          required
          value={draft.name}
          onValue={(name) => change({ name })}
          autocomplete="off"
          failure={failure}
        />
        <Input
          label="Repetitions"
          path="repeat"
          type="number"
          min={1}
          max={10}
          required
          value={draft.repeat}
          onValue={(repeat) => change({ repeat })}
          note="1 to 10. A test that passes in some of them only is flaky."
          failure={failure}
        />
      </div>
      <Steps steps={draft.steps} change={(steps) => change({ steps })} failure={failure} />
      <Results results={draft.results} change={(results) => change({ results })} failure={failure} />
      <Visitor draft={draft} change={change} fields={fields} failure={failure} />
      <NamedTexts
        legend="Metadata"
        one="a value"
        note="Metadata of the session, as your application would send it."
        path="metadata"
        all={draft.metadata}
        change={(metadata) => change({ metadata })}
        failure={failure}
      />
    </>
  );
}

interface StepsOptions {
  readonly steps: readonly StepDraft[];
  readonly change: (steps: readonly StepDraft[]) => void;
  readonly failure: ApiFailure | null;
}

const Steps = ({ steps, change, failure }: StepsOptions) => (
  <div class="fields" tabIndex={-1} role="group" aria-label="Messages">
    <ListField rows={steps} change={change} add="Add a message" added={emptyStep}>
      {(step, index, { set, remove, moveUp }) => (
        <fieldset>
          <legend>Message {index + 1}</legend>
          <Area
            label={index === 0 ? 'The visitor writes' : 'Then the visitor writes'}
            path={`steps.${index}.message`}
            rows={2}
            required
            value={step.message}
            onValue={(message) => set({ message })}
            failure={failure}
          />
          <Expectations step={step} index={index} change={(expectations) => set({ expectations })} failure={failure} />
          <p class="acts">
            {moveUp(`message ${index + 1}`)}
            {steps.length > 1 && remove(`message ${index + 1}`, 'Remove message')}
          </p>
        </fieldset>
      )}
    </ListField>
  </div>
);

interface ExpectationsOptions {
  readonly step: StepDraft;
  /** The place of the step. */
  readonly index: number;
  readonly change: (expectations: readonly ExpectationDraft[]) => void;
  readonly failure: ApiFailure | null;
}

function Expectations({ step, index, change, failure }: ExpectationsOptions) {
  const { expectations } = step;
  return (
    <div class="fields" tabIndex={-1} role="group" aria-label={`Expectations of message ${index + 1}`}>
      {expectations.length === 0 && <p class="note">Expected: the turn completes.</p>}
      <ListField rows={expectations} change={change} add="Add an expectation" added={emptyExpectation}>
        {(one, at, { set, remove }) => (
          <div class="expectation">
            <Choice
              label="Expected"
              value={one.kind}
              choices={kindsFor(step, at)}
              onValue={(kind) => set({ kind: kind as ExpectationKind, text: firstText(kind), args: [] })}
            />
            <Value of={one} set={set} path={expectationPath(index, step, at)} failure={failure} />
            {remove(`expectation ${at + 1} of message ${index + 1}`)}
            {one.kind === 'calls' && <Arguments of={one} set={set} path={expectationPath(index, step, at)} />}
          </div>
        )}
      </ListField>
    </div>
  );
}

const firstText = (kind: string): string => (kind === 'stop_reason' ? 'end' : '');

const reasons = [
  ['end', 'its own end'],
  ['length', 'the max output tokens'],
  ['error', 'an error'],
  ['tool_calls', 'calls that wait'],
  ['aborted', 'an abort'],
  ['expired', 'the session’s expiry'],
  ['taken', 'a person who takes over'],
] as const;

interface ValueOptions {
  readonly of: ExpectationDraft;
  readonly set: (fields: Partial<ExpectationDraft>) => void;
  readonly path: string;
  readonly failure: ApiFailure | null;
}

function Value({ of: { kind, text }, set, path, failure }: ValueOptions) {
  const field = { value: text, onValue: (value: string) => set({ text: value }), path, failure };
  switch (kind) {
    case 'contains':
    case 'not_contains':
      return <Area label="Text" rows={1} required {...field} note="In any case." />;
    case 'judge':
      return (
        <Area
          label="Criterion"
          rows={2}
          required
          {...field}
          note="In words, as in “It offers a refund.” The assistant’s own model answers yes or no."
        />
      );
    case 'characters_max':
      return <Input label="Characters" type="number" min={0} max={200_000} required {...field} />;
    case 'calls':
      return (
        <Input
          label="Function"
          list={functionsList}
          required
          spellcheck={false}
          autocomplete="off"
          {...field}
          note="Calls are expected in this order, possibly among others."
        />
      );
    case 'stop_reason':
      return <Choice label="Reason" choices={reasons} {...field} />;
    default:
      return <p class="note">By this message.</p>;
  }
}

/** The arguments of a call that must be equal. */
function Arguments({ of: { args, text }, set, path }: Omit<ValueOptions, 'failure'>) {
  return (
    <div class="fields arguments" tabIndex={-1} role="group" aria-label={`Arguments of ${text || 'the call'}`}>
      <TextRows
        all={args}
        change={(all) => set({ args: all })}
        path={path.replace(/name$/, 'arguments')}
        names={['Argument', 'Value']}
        one="an argument"
      />
      {args.length > 0 && <p class="note">{valueNote} Any other argument may have any value.</p>}
    </div>
  );
}

const valueNote = 'A text, a number, true or false, or JSON. Put a text that looks like a number in quotes: "7".';

interface TextRowsOptions {
  readonly all: readonly NamedText[];
  readonly change: (all: readonly NamedText[]) => void;
  readonly path: string;
  readonly names: readonly [name: string, value: string];
  /** One of them, as in "Add an argument". */
  readonly one: string;
}

/** Rows of a name and a text each. */
const TextRows = ({ all, change, path, names, one }: TextRowsOptions) => (
  <ListField rows={all} change={change} add={`Add ${one}`} added={{ name: '', text: '' }} quiet={all.length === 0}>
    {(row, index, { set, remove }) => (
      <div class="named">
        <Input
          label={names[0]}
          path={`${path}.${index}.name`}
          required
          spellcheck={false}
          autocomplete="off"
          value={row.name}
          onValue={(name) => set({ name })}
        />
        <Input
          label={names[1]}
          path={`${path}.${index}.value`}
          autocomplete="off"
          value={row.text}
          onValue={(text) => set({ text })}
        />
        {remove(row.name || `${names[0]} ${index + 1}`)}
      </div>
    )}
  </ListField>
);

interface NamedOptions extends Omit<TextRowsOptions, 'names'> {
  readonly legend: string;
  readonly note: string;
  readonly failure: ApiFailure | null;
}

/** The failure's message if it is about a value below this path. */
const faultBelow = (failure: ApiFailure | null, path: string): string | null =>
  failure?.status === 422 && failure.message.includes(`\`${path}`) ? failure.message : null;

function NamedTexts({ legend, note, failure, ...rows }: NamedOptions) {
  const fault = faultBelow(failure, rows.path);
  return (
    <fieldset tabIndex={-1}>
      <legend>{legend}</legend>
      <p class="note">{note}</p>
      <TextRows {...rows} names={['Name', 'Value']} />
      {fault !== null && <small class="fault">{fault}</small>}
    </fieldset>
  );
}

/** The values of the pre-chat form: a field for each that the assistant asks for. */
const anyNumber = { type: 'number', min: null, max: null, step: 'any' } as const;
const plainText = { type: 'text' } as const;

function Visitor({
  draft: { visitor },
  change,
  fields,
  failure,
}: Pick<Options, 'draft' | 'change' | 'fields' | 'failure'>) {
  const textOf = (name: string): string => visitor.find((one) => one.name === name)?.text ?? '';
  const set = (name: string, text: string) =>
    change({ visitor: [...visitor.filter((one) => one.name !== name), ...(text === '' ? [] : [{ name, text }])] });
  const isField = ({ name }: NamedText): boolean => fields.some((field) => field.name === name);
  const others = visitor.filter((one) => !isField(one));
  const fault = faultBelow(failure, 'visitor');
  return (
    <fieldset tabIndex={-1}>
      <legend>Visitor</legend>
      <p class="note">
        {fields.length === 0 ? 'The assistant’s pre-chat form has no fields.' : 'As the pre-chat form would have it.'}
      </p>
      {fields.map(({ name, label, type }) =>
        type === 'boolean' ? (
          <Choice
            key={name}
            label={label}
            path={`visitor.${name}`}
            value={textOf(name)}
            onValue={(text) => set(name, text)}
            choices={[
              ['', 'not given'],
              ['true', 'yes'],
              ['false', 'no'],
            ]}
          />
        ) : (
          <Input
            key={name}
            label={label}
            path={`visitor.${name}`}
            {...(type === 'number' ? anyNumber : plainText)}
            value={textOf(name)}
            onValue={(text) => set(name, text)}
            autocomplete="off"
          />
        ),
      )}
      <TextRows
        all={others}
        change={(all) => change({ visitor: [...visitor.filter(isField), ...all] })}
        path="visitor.others"
        names={['Field', 'Value']}
        one="a field"
      />
      {fault !== null && <small class="fault">{fault}</small>}
    </fieldset>
  );
}

interface ResultsOptions {
  readonly results: readonly ResultDraft[];
  readonly change: (results: readonly ResultDraft[]) => void;
  readonly failure: ApiFailure | null;
}

/** The results that functions return, since no tool is called in a run. */
const Results = ({ results, change, failure }: ResultsOptions) => (
  <fieldset tabIndex={-1}>
    <legend>Results of functions</legend>
    <p class="note">
      No tool is called in a test. A call of a function gets its next result, and the last one again after that. Without
      a result the call fails.
    </p>
    <ListField
      rows={results}
      change={change}
      add="Add a result"
      added={{ name: results.at(-1)?.name ?? '', status: 'completed', output: '' }}
      fault={faultBelow(failure, 'tool_results')}
    >
      {(one, index, { set, remove }) => (
        <div class="outcome">
          <Input
            label="Function"
            path={`results.${index}.name`}
            list={functionsList}
            required
            maxLength={64}
            spellcheck={false}
            autocomplete="off"
            value={one.name}
            onValue={(name) => set({ name })}
          />
          <Choice
            label="Call"
            value={one.status}
            onValue={(status) => set({ status })}
            choices={[
              ['completed', 'succeeds'],
              ['failed', 'fails'],
            ]}
          />
          {remove(`result ${index + 1}`)}
          <Area
            label={one.status === 'failed' ? 'Reason, as the tool gives it' : 'Output, as the tool returns it'}
            path={`results.${index}.output`}
            rows={2}
            code
            value={one.output}
            onValue={(output) => set({ output })}
          />
        </div>
      )}
    </ListField>
  </fieldset>
);
