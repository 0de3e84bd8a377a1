/** The plan of `parley apply`: one pure function. */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import {
  hasChanges,
  isConflict,
  planOf,
  type FileOf,
  type StoredAssistant,
  type Stored,
} from '../../../src/cli/code/plan.ts';
import {
  assistantOfContent,
  contentOfAssistant,
  contentOfTool,
  toolOfContent,
  type AssistantSettings,
  type ToolSettings,
} from '../../../src/cli/code/settings.ts';
import { fileNamesOf } from '../../../src/cli/code/folder.ts';
import { parseYaml, withDigest, yamlText } from '../../../src/cli/code/yaml.ts';

const settings = (over: Partial<AssistantSettings> = {}): AssistantSettings => ({
  ...assistantOfContent({}, null),
  ...over,
});
const tool = (over: object = {}): ToolSettings => toolOfContent({ kind: 'client', ...over });

const file = <Settings>(name: string, digest: string | null, of: Settings): FileOf<Settings> => ({
  path: `${name}.yaml`,
  name,
  digest,
  settings: of,
});
const stored = <Settings>(name: string, digest: string, of: Settings): Stored<Settings> => ({
  id: `id-of-${name}`,
  name,
  digest,
  settings: of,
});
const assistant = (name: string, digest: string, of: AssistantSettings, over = {}): StoredAssistant => ({
  ...stored(name, digest, of),
  changed: false,
  status: 'published',
  ...over,
});

const options = { force: false, publish: false };

t.test('each file is created, changed, left or in conflict', async (t) => {
  const files = {
    tests: [],
    tools: [],
    assistants: [
      file('new', 'x', settings()),
      file('same', 'old', settings()),
      file('changed', 'now', settings({ greeting: 'Hi' })),
      file('moved', 'old', settings({ greeting: 'Hi' })),
      file('without', null, settings({ greeting: 'Hi' })),
    ],
  };
  const names = ['same', 'changed', 'moved', 'without'];
  const installation = { tools: [], tests: [], assistants: names.map((name) => assistant(name, 'now', settings())) };
  const plan = planOf(files, installation, options);
  t.same(
    plan.assistants.map(({ outcome }) => outcome),
    ['create', 'same', 'change', 'conflict', 'conflict'],
  );
  t.same(plan.assistants[2]!.changes, [{ path: 'greeting', before: null, after: 'Hi' }]);
  t.same([isConflict(plan), hasChanges(plan)], [true, true]);
  const forced = planOf(files, installation, { ...options, force: true });
  t.same(
    forced.assistants.map(({ outcome }) => outcome),
    ['create', 'same', 'change', 'change', 'change'],
  );
  t.notOk(isConflict(forced));
  t.notOk(hasChanges(planOf({ ...files, assistants: [files.assistants[1]!] }, installation, options)));
});

t.test('a conflict holds back the tools of its assistant, and the other assistants of those', async (t) => {
  const has = (...tools: string[]) => settings({ tools });
  const files = {
    tests: [],
    tools: ['a', 'b', 'c'].map((name) => file(name, 'now', tool({ timeout_seconds: 5 }))),
    assistants: [
      file('one', 'old', { ...has('a'), greeting: 'Hi' }),
      file('two', 'now', { ...has('a', 'b'), greeting: 'Hi' }),
      file('three', 'now', { ...has('c'), greeting: 'Hi' }),
    ],
  };
  const installation = {
    tests: [],
    tools: ['a', 'b', 'c'].map((name) => stored(name, 'now', tool())),
    assistants: [
      assistant('one', 'now', has('a')),
      assistant('two', 'now', has('a', 'b')),
      assistant('three', 'now', has('c')),
    ],
  };
  const plan = planOf(files, installation, options);
  const outcomes = (steps: readonly { readonly outcome: string }[]) => steps.map(({ outcome }) => outcome);
  t.same(outcomes(plan.tools), ['conflict', 'conflict', 'change']);
  t.same(outcomes(plan.assistants), ['conflict', 'conflict', 'change']);
});

t.test('publish is planned for drafts that differ from their version, and never for a disabled one', async (t) => {
  const files = {
    tests: [],
    tools: [file('t', 'now', tool({ timeout_seconds: 5 }))],
    assistants: ['new', 'ahead', 'even', 'off', 'tool'].map((name) =>
      file(name, 'now', settings({ tools: name === 'tool' ? ['t'] : [] })),
    ),
  };
  const installation = {
    tests: [],
    tools: [stored('t', 'now', tool())],
    assistants: [
      assistant('ahead', 'now', settings(), { changed: true }),
      assistant('even', 'now', settings()),
      assistant('off', 'now', settings(), { changed: true, status: 'disabled' }),
      assistant('tool', 'now', settings({ tools: ['t'] })),
    ],
  };
  const plan = planOf(files, installation, { force: false, publish: true });
  t.same(
    plan.assistants.map(({ publish }) => publish),
    [true, true, false, false, true],
  );
});

t.test('an MCP server keeps the functions that a file leaves out', async (t) => {
  const each = (name: string, enabled: boolean) => ({ name, enabled, approval: null, show: null });
  const before = tool({ kind: 'mcp', url: 'https://mcp.example', functions: [each('a', true), each('b', false)] });
  const part = (enabled: boolean) => ({ ...before, functions: [each('b', enabled)] });
  const outcomeOf = (of: ToolSettings) =>
    planOf(
      { tools: [file('t', 'now', of)], assistants: [], tests: [] },
      { tools: [stored('t', 'now', before)], assistants: [], tests: [] },
      options,
    ).tools[0]!.outcome;
  t.equal(outcomeOf(part(false)), 'same');
  t.equal(outcomeOf(part(true)), 'change');
});

t.test('settings come back from the text of their file', async (t) => {
  const odd = [
    'yes',
    '0x1f',
    '1e3',
    ' x ',
    '# no',
    'a: b',
    '- a',
    '\u0000\u0007',
    '\r\n x \r',
    '{{a|}}',
    '\u2028',
    "it's",
    '"',
    '',
    '~',
    '<<',
    '\ud83d\ude00',
    'x'.repeat(500),
    'a\n\n\nb\n',
    '\tx',
  ];
  const wrong = odd.filter((text) => {
    const voice = { provider: text, name: null, transcription_name: null, voice: text, credential: null };
    const one = settings({ greeting: text || null, voice });
    const content = { name: text, digest: 'd', ...contentOfAssistant(one, 'p.md') };
    const parameters = { type: 'object', properties: { [text]: { const: text } } };
    const other = tool({ functions: [{ name: 'f', description: text, parameters }] });
    return !(
      isDeepStrictEqual(assistantOfContent(parseYaml('f', yamlText(content)).content, null), one) &&
      isDeepStrictEqual(toolOfContent(parseYaml('f', yamlText({ name: text, ...contentOfTool(other) })).content), other)
    );
  });
  t.same(wrong, []);
});

t.test('a digest is replaced and the rest of the file stays', async (t) => {
  for (const [before, after] of [
    ['# a\nname: x # b\ndigest: old # c\n\nz:   1\n', '# a\nname: x # b\ndigest: new # c\n\nz:   1\n'],
    ['digest: "old"\r\nname: x\r\n', 'digest: new\r\nname: x\r\n'],
    ['{name: x, digest: old}\n', '{name: x, digest: new}\n'],
    ['name: x\n', 'name: x\ndigest: new\n'],
  ] as const)
    t.equal(withDigest(before, 'new'), after);
});

t.test('names become safe names of files, each its own', async (t) => {
  const names = ['Support', 'Orders / EU', '../../etc', 'Ünï', 'con', '猫', 'a', 'A', '.hidden', 'x'.repeat(300)];
  const files = fileNamesOf(names, 'assistant');
  t.same(files.slice(0, 4), ['support', 'orders-eu', 'etc', 'uni']);
  t.match(files[4], /^con-[0-9a-f]{8}$/);
  t.match(files[5], /^assistant-[0-9a-f]{8}$/);
  t.match(files[6], /^a-[0-9a-f]{8}$/);
  t.equal(new Set(files).size, files.length);
  t.ok(files.every((name) => /^[a-z0-9][a-z0-9-]{0,68}$/.test(name)));
  t.same(fileNamesOf(names.toReversed(), 'assistant'), files.toReversed(), 'whatever the order');
});
