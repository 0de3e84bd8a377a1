/** A test of an assistant as its form has it, converted to and from the API's shape. */
import type { Assistant, AssistantTest } from '../types.ts';

/** The kinds of expectations, with their labels. */
export const expectationKinds = [
  ['contains', 'The reply contains'],
  ['not_contains', 'The reply does not contain'],
  ['judge', 'The reply meets a criterion'],
  ['characters_max', 'The reply has at most'],
  ['calls', 'A function is called'],
  ['no_calls', 'No function is called'],
  ['stop_reason', 'The turn ends with'],
] as const;

export type ExpectationKind = (typeof expectationKinds)[number][0];

/** Kinds that a step has once at most. */
const single: readonly ExpectationKind[] = ['judge', 'characters_max', 'no_calls', 'stop_reason'];

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export interface ExpectationDraft {
  readonly kind: ExpectationKind;
  /** The text, the criterion, the number, the function's name or the reason. */
  readonly text: string;
  /** Arguments of a call that must be equal. */
  readonly args: readonly NamedText[];
}

export interface StepDraft {
  readonly message: string;
  readonly expectations: readonly ExpectationDraft[];
}

export interface ResultDraft {
  /** The function's name. */
  readonly name: string;
  readonly status: string;
  readonly output: string;
}

export interface TestDraft {
  readonly name: string;
  readonly repeat: string;
  readonly visitor: readonly NamedText[];
  readonly metadata: readonly NamedText[];
  readonly steps: readonly StepDraft[];
  readonly results: readonly ResultDraft[];
}

type VisitorField = Pick<Assistant['visitor_fields'][number], 'name' | 'type'>;
type Expect = AssistantTest['steps'][number]['expect'];

export const emptyStep: StepDraft = { message: '', expectations: [] };
export const emptyExpectation: ExpectationDraft = { kind: 'contains', text: '', args: [] };

export const emptyTest: TestDraft = {
  name: '',
  repeat: '1',
  visitor: [],
  metadata: [],
  steps: [emptyStep],
  results: [],
};

/** The kinds that an expectation of a step may have: a single kind only once. */
export const kindsFor = ({ expectations }: StepDraft, index: number) =>
  expectationKinds.filter(
    ([kind]) => !single.includes(kind) || expectations.every((one, place) => place === index || one.kind !== kind),
  );

/**
 * The value that a text of the form stands for: a number, `true`, `false`, `null`, or other JSON where it is written
 * so, else the text itself. A number that would be stored in other digits stays a text.
 */
export function valueOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}

/** The text that stands for a value. A text that would be read as something else is in quotes. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' && value !== '' && !/[\n\r]/.test(value) && valueOf(value) === value
    ? value
    : JSON.stringify(value);

export function testDraftOf(test: AssistantTest, fields: readonly VisitorField[]): TestDraft {
  const isText = (name: string): boolean => ['text', 'email'].includes(typeOf(fields, name) ?? '');
  return {
    name: test.name,
    repeat: String(test.repeat),
    visitor: Object.entries(test.visitor).map(([name, value]) => ({
      name,
      text: isText(name) ? String(value) : textOf(value),
    })),
    metadata: Object.entries(test.metadata).map(([name, text]) => ({ name, text })),
    steps: test.steps.map(({ message, expect }) => ({ message, expectations: expectationsOf(expect) })),
    results: Object.entries(test.tool_results).flatMap(([name, all]) => all.map((result) => ({ name, ...result }))),
  };
}

const typeOf = (fields: readonly VisitorField[], name: string) => fields.find((field) => field.name === name)?.type;

function expectationsOf(expect: Expect): readonly ExpectationDraft[] {
  const { contains = [], not_contains: absent = [], calls = [] } = expect;
  const one = (kind: ExpectationKind, text: string, args: readonly NamedText[] = []) => ({ kind, text, args });
  return [
    ...contains.map((text) => one('contains', text)),
    ...absent.map((text) => one('not_contains', text)),
    ...(expect.judge === undefined ? [] : [one('judge', expect.judge)]),
    ...(expect.characters_max === undefined ? [] : [one('characters_max', String(expect.characters_max))]),
    ...calls.map((call) =>
      one(
        'calls',
        call.name,
        Object.entries(call.arguments ?? {}).map(([name, value]) => ({ name, text: textOf(value) })),
      ),
    ),
    ...(expect.no_calls ? [one('no_calls', '')] : []),
    ...(expect.stop_reason === undefined ? [] : [one('stop_reason', expect.stop_reason)]),
  ];
}

const objectOf = (all: readonly NamedText[], value: (one: NamedText) => unknown) =>
  Object.fromEntries(all.map((one) => [one.name.trim(), value(one)]));

export function testBodyOf(draft: TestDraft, fields: readonly VisitorField[]) {
  const visitorValue = ({ name, text }: NamedText): unknown =>
    ['text', 'email'].includes(typeOf(fields, name) ?? '') ? text : valueOf(text);
  const results: Record<string, object[]> = Object.create(null);
  for (const { name, ...result } of draft.results) (results[name.trim()] ??= []).push(result);
  return {
    name: draft.name,
    repeat: Number(draft.repeat),
    visitor: objectOf(
      draft.visitor.filter(({ text }) => text !== ''),
      visitorValue,
    ),
    metadata: objectOf(draft.metadata, ({ text }) => text),
    steps: draft.steps.map(({ message, expectations }) => ({ message, expect: expectOf(expectations) })),
    tool_results: results,
  };
}

function expectOf(expectations: readonly ExpectationDraft[]): object {
  const of = (kind: ExpectationKind) => expectations.filter((one) => one.kind === kind);
  const texts = (kind: ExpectationKind) => of(kind).map(({ text }) => text);
  const [judge] = texts('judge');
  const [characters] = texts('characters_max');
  const [reason] = texts('stop_reason');
  const calls = of('calls').map(({ text, args }) => ({
    name: text.trim(),
    ...(args.length > 0 && { arguments: objectOf(args, (one) => valueOf(one.text)) }),
  }));
  return {
    ...(texts('contains').length > 0 && { contains: texts('contains') }),
    ...(texts('not_contains').length > 0 && { not_contains: texts('not_contains') }),
    ...(judge !== undefined && { judge }),
    ...(characters !== undefined && { characters_max: Number(characters) }),
    ...(calls.length > 0 && { calls }),
    ...(of('no_calls').length > 0 && { no_calls: true }),
    ...(reason !== undefined && { stop_reason: reason }),
  };
}

/** The path of an expectation's value in the API, as the server's error names it. */
export function expectationPath(step: number, { expectations }: StepDraft, index: number): string {
  const { kind } = expectations[index]!;
  const path = `steps.${step}.expect.${kind}`;
  const place = expectations.slice(0, index).filter((one) => one.kind === kind).length;
  if (kind === 'calls') return `${path}.${place}.name`;
  return single.includes(kind) ? path : `${path}.${place}`;
}
