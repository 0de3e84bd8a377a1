/**
 * Each change has one row in the audit, and no row has a secret: tried over every route that changes something (promise
 * O2). Servers that forget a row or leak a secret on purpose are found.
 */
import t, { type Test } from 'tap';
import { consoleRoutes } from '../../src/http/routes/console.ts';
import { pageRoutes } from '../../src/http/routes/pages.ts';
import { canary, found } from '../secrets/canaries.ts';
import { changedProgram, type Change } from '../secrets/changed-program.ts';
import { acts, hidden, prompt, rowsBy, Scene, unaudited } from './audit-acts.ts';
import { openHouse } from './house.ts';

interface Found {
  /** Routes whose rows differ from the table, with the rows. */
  readonly wrong: Readonly<Record<string, readonly string[]>>;
  /** Names of the texts that a row has. */
  readonly leaked: readonly string[];
  /** Whether the search has found the prompt, which rows have. */
  readonly hasPrompt: boolean;
}

/** Takes every act on a server, and reads the whole audit. */
async function everyAct(t: Test, command?: string): Promise<Found> {
  const house = await openHouse(t, {
    ...(command !== undefined && { command }),
    env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_OPERATOR_TOKEN: hidden['operator token']! },
  });
  const scene = new Scene(t, house);
  const wrong: Record<string, readonly string[]> = {};
  const expected = [
    ...Object.entries(acts),
    ...Object.entries(unaudited).map(([route, [, act]]) => [route, [[], act]] as const),
  ];
  for (const [route, [rows, act]] of expected) {
    const written = await rowsBy(scene, route, act);
    if (written.join() !== rows.join()) wrong[route] = written;
  }
  const pages: string[] = [];
  for (let after = ''; after !== null;) {
    const { text, json } = await house.console(`/audit?limit=100${after && `&after=${after}`}`);
    pages.push(text);
    after = json.next_cursor;
  }
  const bytes = Buffer.from(pages.join());
  const secrets = [...Object.entries(hidden).map(([name, text]) => canary(name, text)), ...scene.made];
  return { wrong, leaked: found(bytes, secrets), hasPrompt: found(bytes, [prompt]).length > 0 };
}

t.test('each route that changes something stands in one of the tables [O2]', async (t) => {
  const changing = [...consoleRoutes, ...pageRoutes]
    .filter(({ method, path }) => method !== 'GET' && path.startsWith('/console/api'))
    .map(({ method, path }) => `${method} ${path.slice('/console/api'.length)}`);
  const listed = [...Object.keys(acts), ...Object.keys(unaudited)];
  t.same(listed.toSorted(), [...changing].sort(), 'a new route gets its act and its rows in audit-acts.ts');
});

t.test('each change has its rows and no row has a secret or a word of a conversation [O2]', async (t) => {
  t.same(await everyAct(t), { wrong: {}, leaked: [], hasPrompt: true });
});

type Faults = Readonly<Record<string, readonly [change: Change, seen: string]>>;

/** Changes of the program, and the route whose rows are then wrong, or the text that a row then has. */
const faults: Faults = {
  'forgets the row of an end': [
    [/"session\.ended" \? cause\.auditStep/, '"none" ? cause.auditStep'],
    'POST /workspaces/{w}/sessions/{id}/end',
  ],
  'writes no row of a new key': [[/cause\.audit\?\.\(null, key\d*\)/, 'void 0'], 'POST /workspaces/{w}/keys'],
  'writes a row for a preview': [
    [
      /(async function previewAssistant\((\w+)\) \{)/,
      '$1 await recordAct($2, $2.params.w, { action: "x", objectType: "x", objectId: "x" });',
    ],
    'POST /workspaces/{w}/assistants/{id}/preview',
  ],
  "writes a message's text": [
    [/(action: "message", session: \w+, turnId: )\w+\.id/, '$1userMessage.content'],
    'message',
  ],
  'writes the arguments of a tested call': [
    [/function: (called\w*)\.name, call_id/, 'function: JSON.stringify(body.arguments), call_id'],
    'argument',
  ],
  "writes a provider's key": [
    [/(audited\d*\(request, "credential"\)\(null, )(credential\d*)\)/, '$1{ ...$2, provider: body.api_key })'],
    'key of a tool',
  ],
  'writes the token of a sign-in link': [
    [/(const (token\d*) = randomToken\d*\(ids\d*, signInSecretBytes\d*\);[^]*?audit\d*\?\.\()id\d*\)/, '$1$2)'],
    'made',
  ],
};

/** A change that shows in the same rows as one of the others. */
const others: Faults = {
  'writes another row for the turn that ends with its session': [
    [/(const stopCause\d* = )[^;]+;/, '$1cause;'],
    'POST /workspaces/{w}/sessions/{id}/end',
  ],
};

// The changes of one table show in different rows and texts, so one server has them all.
for (const together of [faults, others])
  t.test(`a server that ${Object.keys(together).join(', ')} on purpose is found [O2]`, async (t) => {
    const changes = Object.values(together).map(([change]) => change);
    const { wrong, leaked } = await everyAct(t, await changedProgram(t, ...changes));
    for (const [name, [, seen]] of Object.entries(together))
      t.ok(
        seen in wrong || leaked.some((text) => text.startsWith(seen)),
        `a server that ${name}: ${JSON.stringify(wrong)}; ${leaked.join(', ')}`,
      );
  });
