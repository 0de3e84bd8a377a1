/** `parley pull` and `parley apply` at a server (contract 20). */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { run } from '../cli/support.ts';
import { temporaryFolder } from '../folders.ts';
import { openWorkspace, type House } from './house.ts';

const oddPrompt = '\ufeffBe brief.\r\nTrailing   \n\ttab, ü, 猫, \u{1f408}, "quotes"\n\n{{visitor.name|you}}  \r\n';

const cli = (house: House, ...args: string[]) =>
  run([...args, '--workspace', house.workspaceId], {
    env: { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken },
  });

const at = (house: House, rest: string): string => `/workspaces/${house.workspaceId}${rest}`;

async function call(house: House, method: string, path: string, body?: object): Promise<any> {
  const answer = await house.console(at(house, path), { method, ...(body && { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.json;
}

const lookUp = {
  name: 'look_up',
  description: 'Finds an order:\n  by its number',
  parameters: { type: 'object', properties: { order: { type: 'string', pattern: '^[0-9]+$' } }, required: ['order'] },
};

/** A workspace with credentials, a tool and two assistants. */
async function furnished(): Promise<House> {
  const house = await openWorkspace();
  await credentials(house);
  const { data } = await call(house, 'GET', '/credentials');
  const idOf = (name: string) => data.find((one: any) => one.name === name).id;
  const tool = await call(house, 'POST', '/tools', {
    ...{ kind: 'http', name: 'Orders / EU', url: 'https://orders.example/call', credential_id: idOf('orders') },
    functions: [lookUp, { name: 'cancel', enabled: false, approval: 'always' }],
    calls_per_minute: 7,
  });
  const { id } = await call(house, 'POST', '/assistants', {
    name: 'Support',
    model: {
      ...{ provider: 'openai', name: 'm', credential_id: idOf('main'), system_prompt: oddPrompt, temperature: 0.2 },
      fallbacks: [{ provider: 'scripted', name: 'scripted' }],
    },
    greeting: 'Hello: "you"\n# no comment',
    visitor_fields: [{ name: 'email', type: 'email', required: true }, { name: 'name' }],
    voice: { provider: 'synthetic', name: 'character_ms=5' },
    max_call_seconds: 77,
    tool_ids: [tool.id],
    tool_rounds_max: 3,
  });
  await call(house, 'POST', `/assistants/${id}/tests`, {
    name: 'An order',
    visitor: { email: 'a@example.com' },
    steps: [
      { message: 'Where is order 7?', expect: { calls: [{ name: 'look_up', arguments: { order: '7' } }] } },
      { message: 'Thanks' },
    ],
    tool_results: { look_up: [{ output: { shipped: true } }, { status: 'failed' }] },
    repeat: 2,
  });
  await call(house, 'POST', '/assistants', { name: 'Ünï / ../x', greeting: 'yes' });
  return house;
}

async function credentials(house: House): Promise<void> {
  const body = { api_key: 'sk-of-the-test' };
  await call(house, 'POST', '/credentials', { ...body, kind: 'model', provider: 'openai', name: 'main' });
  const tool = { kind: 'tool', base_url: 'https://orders.example', name: 'orders' };
  await call(house, 'POST', '/credentials', { ...body, ...tool });
}

async function filesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const files = names.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const;
  });
  return Object.fromEntries((await Promise.all(files)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const assistantNamed = async (house: House, name: string): Promise<any> =>
  (await call(house, 'GET', '/assistants')).data.find((one: any) => one.name === name);

/** The settings of a draft, with names in place of ids. */
async function draftOf(house: House, name: string): Promise<any> {
  const { model, greeting, visitor_fields, voice, max_call_seconds, tool_ids, tool_rounds_max } = await assistantNamed(
    house,
    name,
  );
  const tools = (await call(house, 'GET', '/tools')).data;
  const known = (await call(house, 'GET', '/credentials')).data;
  const credential = (id: string | null) => known.find((one: any) => one.id === id)?.name ?? null;
  return {
    ...{ greeting, visitor_fields, voice, max_call_seconds, tool_rounds_max },
    model: { ...model, credential_id: credential(model.credential_id) },
    tools: tool_ids.map((id: string) => {
      const {
        id: _,
        digest: __,
        created_at,
        updated_at,
        credential_id,
        ...tool
      } = tools.find((one: any) => one.id === id);
      return { ...tool, credential: credential(credential_id) };
    }),
  };
}

const edit = async (folder: string, file: string, change: (text: string) => string): Promise<void> =>
  writeFile(join(folder, file), change(await readFile(join(folder, file), 'utf8')));

const [support, prompt, orders] = ['assistants/support.yaml', 'assistants/support.md', 'tools/orders-eu.yaml'];
const order = 'tests/support-an-order.yaml';

async function pulled(t: Test): Promise<{ house: House; folder: string }> {
  const house = await furnished();
  const folder = t.testdir();
  t.match(await cli(house, 'pull', folder), { code: 0, stderr: '' });
  return { house, folder };
}

t.test('pull writes files by name, without ids and secrets, and twice the same', async (t) => {
  const { house, folder } = await pulled(t);
  const files = await filesOf(folder);
  t.same(Object.keys(files), ['assistants/support.md', support, 'assistants/uni-x.yaml', order, orders]);
  t.equal(files[prompt], oddPrompt, 'the prompt byte for byte');
  t.notMatch(JSON.stringify(files), /(?:asst|tool|crd|wks|tst)_[0-9a-z]{26}|sk-of|whsec_/);
  const { digest } = (await assistantNamed(house, 'Support')).draft;
  t.match(
    files[support],
    `name: Support\ndigest: ${digest}\nmodel:\n  provider: openai\n  name: m\n  credential: main\n`,
  );
  t.match(files[support], '\ntools:\n  - Orders / EU\n');
  const again = await cli(house, 'pull', folder);
  t.match(again, { code: 0, stdout: /2 assistants, 1 tool and 1 test in .*: nothing has changed\.\n$/ });
  t.same(await filesOf(folder), files);
  t.match(await cli(house, 'apply', folder, '--check'), { code: 0, stdout: 'Nothing to do: 4 as the files say.\n' });
});

t.test('files applied to another installation give equal drafts', async (t) => {
  const { house, folder } = await pulled(t);
  const other = await openWorkspace();
  const missing = await cli(other, 'apply', folder);
  t.match(missing, {
    code: 1,
    stderr:
      /^parley: assistants\/support\.yaml:6: No credential of the workspace is called "main"\.\n|tools\/orders-eu/,
  });
  t.same((await call(other, 'GET', '/tools')).data, [], 'and nothing is written');
  await credentials(other);
  t.match(await cli(other, 'apply', folder, '--check'), { code: 4, stdout: /Plan: 4 to create, 0 to change/ });
  t.same((await call(other, 'GET', '/assistants')).data, [], 'a check changes nothing');
  t.match(await cli(other, 'apply', folder), { code: 0, stderr: '' });
  for (const name of ['Support', 'Ünï / ../x']) t.same(await draftOf(other, name), await draftOf(house, name), name);
  t.equal((await assistantNamed(other, 'Support')).model.system_prompt, oddPrompt);
  t.match(await cli(other, 'apply', folder, '--check'), { code: 0 }, 'the files have the new digests');
  const files = await filesOf(folder);
  t.match(await cli(other, 'pull', folder), { code: 0 });
  t.same(await filesOf(folder), files, 'and a pull changes nothing');
});

t.test('apply changes what differs, publishes on request, and keeps the comments of a file', async (t) => {
  const { house, folder } = await pulled(t);
  await edit(folder, support, (text) => `# Ours\n${text.replace('temperature: 0.2', 'temperature: 0.5 # warmer')}`);
  await edit(folder, prompt, (text) => `${text}One more line.`);
  await edit(folder, orders, (text) => text.replace('calls_per_minute: 7', 'calls_per_minute: 9'));
  const check = await cli(house, 'apply', folder, '--check');
  t.match(check, {
    code: 4,
    stdout: /~ change tool "Orders \/ EU"[^]*calls_per_minute: 7 → 9\n[^]*temperature: 0\.2 → 0\.5\n/,
  });
  t.match(check.stdout, /Plan: 0 to create, 2 to change, 0 in conflict, 2 as the files say\./);
  t.match(await cli(house, 'apply', folder), { code: 0, stderr: '' });
  const after = await assistantNamed(house, 'Support');
  t.match(after, { version: null, model: { temperature: 0.5, system_prompt: `${oddPrompt}One more line.` } });
  t.equal((await call(house, 'GET', '/tools')).data[0].calls_per_minute, 9);
  const text = (await filesOf(folder))[support]!;
  t.match(text, /^# Ours\nname: Support\ndigest: [\w-]+\n[^]*temperature: 0\.5 # warmer\n/);
  t.match(text, after.draft.digest);
  t.match(await cli(house, 'apply', folder, '--check'), { code: 0 });
  t.match(await cli(house, 'apply', folder, '--check', '--publish'), {
    code: 4,
    stdout: /> publish assistant "Support"\n/,
  });
  t.match(await cli(house, 'apply', folder, '--publish'), { code: 0, stdout: /Published "Support"\.\n/ });
  t.match(await assistantNamed(house, 'Support'), { version: 1, status: 'published', draft: { changed: false } });
  t.match(await cli(house, 'apply', folder, '--publish'), { code: 0, stdout: /^Nothing to do: 4/ });
  t.equal((await assistantNamed(house, 'Support')).version, 1, 'and no version is made of what is current');
});

t.test(
  'a draft that has changed since is a conflict: nothing of its assistant is applied, unless forced',
  async (t) => {
    const { house, folder } = await pulled(t);
    const { id } = await assistantNamed(house, 'Support');
    await call(house, 'PATCH', `/assistants/${id}`, { greeting: 'From the console' });
    await edit(folder, prompt, () => 'Another prompt');
    await edit(folder, orders, (text) => text.replace('calls_per_minute: 7', 'calls_per_minute: 9'));
    await edit(folder, 'assistants/uni-x.yaml', (text) => text.replace('greeting: "yes"', 'greeting: "no"'));
    const before = await filesOf(folder);
    const conflict =
      /! conflict assistant "Support" \(assistants\/support\.yaml\): it has changed since the file was written\.\n/;
    t.match(await cli(house, 'apply', folder, '--check'), { code: 3, stdout: conflict });
    t.match(await cli(house, 'apply', folder), { code: 3, stdout: conflict });
    const after = await assistantNamed(house, 'Support');
    t.match(after, { greeting: 'From the console', model: { system_prompt: oddPrompt } });
    t.equal((await call(house, 'GET', '/tools')).data[0].calls_per_minute, 7, 'nor of its tool, which would change it');
    t.equal((await assistantNamed(house, 'Ünï / ../x')).greeting, 'no', 'another assistant is applied');
    const { [support]: text, ...others } = await filesOf(folder);
    t.equal(text, before[support], 'its file keeps its digest');
    t.not(others['assistants/uni-x.yaml'], before['assistants/uni-x.yaml']);
    t.match(await cli(house, 'apply', folder, '--force'), { code: 0, stderr: '' });
    const forced = await assistantNamed(house, 'Support');
    t.match(forced, { greeting: 'Hello: "you"\n# no comment', model: { system_prompt: 'Another prompt' } });
    t.match(await cli(house, 'apply', folder, '--check'), { code: 0 });

    const tool = (await call(house, 'GET', '/tools')).data[0];
    await call(house, 'PATCH', `/tools/${tool.id}`, { timeout_seconds: 5 });
    t.match(
      await cli(house, 'apply', folder, '--check'),
      { code: 3, stdout: /! conflict tool "Orders \/ EU"[^]*! conflict assistant "Support"/ },
      'an edited tool changes the draft of its assistant',
    );
    await edit(folder, 'assistants/uni-x.yaml', (text) => text.replace(/^digest: .*\n/m, '').replace('"no"', 'Hi'));
    t.match(await cli(house, 'apply', folder, '--check'), { code: 3, stdout: /Ünï[^]*the file has no digest/ });
  },
);

t.test('two applies and an edit in the console at once lose nothing', async (t) => {
  const { house, folder } = await pulled(t);
  const { id } = await assistantNamed(house, 'Support');
  for (let round = 0; round < 5; round++) {
    t.match(await cli(house, 'pull', folder), { code: 0 });
    const texts = [`first ${round}`, `second ${round}`, `console ${round}`];
    const { digest } = (await assistantNamed(house, 'Support')).draft;
    const folders = await Promise.all([0, 1].map((which) => copyOf(t, folder, `${round}-${which}`)));
    await Promise.all(folders.map((each, which) => edit(each, prompt, () => texts[which]!)));
    const [one, other, console] = await Promise.all([
      cli(house, 'apply', folders[0]!),
      cli(house, 'apply', folders[1]!),
      house.console(at(house, `/assistants/${id}`), {
        method: 'PATCH',
        body: { model: { system_prompt: texts[2] } },
        headers: { 'if-match': `"${digest}"` },
      }),
    ]);
    const won = [one.code === 0, other.code === 0, console.status === 200];
    t.same(won.filter(Boolean).length, 1, `one of three wins: ${one.code}, ${other.code}, ${console.status}`);
    t.equal((await assistantNamed(house, 'Support')).model.system_prompt, texts[won.indexOf(true)]);
    for (const { code } of [one, other]) if (code !== 0) t.equal(code, 3);
  }
});

async function copyOf(t: Test, folder: string, name: string): Promise<string> {
  const copy = join(t.testdirName, '..', `${t.testdirName.split('/').at(-1)}-${name}`);
  for (const [path, text] of Object.entries(await filesOf(folder))) {
    await mkdir(join(copy, path, '..'), { recursive: true });
    await writeFile(join(copy, path), text);
  }
  return copy;
}

t.test('tests are files too: applied with their assistant, and in conflict where they have changed', async (t) => {
  const { house, folder } = await pulled(t);
  const list = `/assistants/${(await assistantNamed(house, 'Support')).id}/tests`;
  const testOf = async (name = 'An order') =>
    (await call(house, 'GET', list)).data.find((one: any) => one.name === name);
  const text = (await filesOf(folder))[order]!;
  t.match(text, /^digest: [\w-]+\nassistant: Support\nname: An order\nvisitor:\n  email: a@example\.com\nsteps:\n/);
  t.match(text, '\nrepeat: 2\n');
  await edit(folder, order, (before) => before.replace('repeat: 2', 'repeat: 3'));
  await writeFile(join(folder, 'tests/new.yaml'), 'assistant: Support\nname: New\nsteps:\n  - message: Hi\n');
  const check = await cli(house, 'apply', folder, '--check');
  t.match(check, {
    code: 4,
    stdout: /\+ create test "Support: New" .*\n~ change test "Support: An order" .*\n    repeat: 2 → 3\n/,
  });
  t.match(await cli(house, 'apply', folder), { code: 0, stderr: '' });
  t.match(await testOf(), {
    repeat: 3,
    tool_results: { look_up: [{ output: '{"shipped":true}' }, { status: 'failed' }] },
  });
  t.match(await testOf('New'), { steps: [{ message: 'Hi' }], repeat: 1 });
  t.match(await cli(house, 'apply', folder, '--check'), { code: 0 });

  await call(house, 'PATCH', `${list}/${(await testOf()).id}`, { repeat: 4 });
  await edit(folder, order, (before) => before.replace('repeat: 3', 'repeat: 5'));
  t.match(await cli(house, 'apply', folder), { code: 3, stdout: /! conflict test "Support: An order"/ });
  t.equal((await testOf()).repeat, 4, 'nothing is lost');
  await writeFile(join(folder, 'tests/new.yaml'), 'assistant: Nobody\nname: New\nsteps:\n  - message: Hi\n');
  t.match(await cli(house, 'apply', folder), {
    code: 1,
    stderr: /tests\/new\.yaml:1: No assistant is called "Nobody"/,
  });
  for (const [wrong, expected] of [
    [
      'assistant: Support\nname: New\nsteps:\n  - message: Hi\n    expect:\n      contain: [a]\n',
      /:6: The field `steps\.0\.expect\.contain`/,
    ],
    ['assistant: Support\nname: New\nsteps: []\n', /:3: The field `steps`/],
    ['assistant: Support\nname: New\n', /The field `steps` is missing/],
    ['name: New\nsteps:\n  - message: Hi\n', /The field `assistant` must/],
  ] as const) {
    await writeFile(join(folder, 'tests/new.yaml'), wrong);
    t.match(await cli(house, 'apply', folder), { code: 1, stderr: expected }, wrong);
  }
});

t.test('apply names the tests that a draft has to pass before it is published', async (t) => {
  const { house, folder } = await pulled(t);
  await call(house, 'PATCH', `/assistants/${(await assistantNamed(house, 'Support')).id}`, { require_tests: true });
  t.match(await cli(house, 'apply', folder, '--publish'), {
    code: 1,
    stderr:
      /"Support" has not passed its tests: "An order" \(not run\)\. Run them: parley tests run Support \(tests_not_/,
  });
  t.match(await assistantNamed(house, 'Support'), { version: null });
});

/** A way to the server on which `edit` runs before the first request of the given method and path is passed on. */
async function interrupted(t: Test, house: House, first: RegExp, edit: () => Promise<unknown>): Promise<House> {
  let isEdited = false;
  const proxy = createServer((request, response) => {
    void (async () => {
      if (!isEdited && first.test(`${request.method} ${request.url}`)) {
        isEdited = true;
        await edit();
      }
      const { authorization, 'if-match': tag } = request.headers;
      const headers = {
        authorization: authorization!,
        'content-type': 'application/json',
        ...(tag !== undefined && { 'if-match': tag }),
      };
      const body = request.method === 'GET' ? {} : { body: await text(request) };
      const answer = await fetch(house.url + request.url!, { method: request.method!, headers, ...body });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    })();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => proxy.close());
  return { ...house, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

t.test('an edit between the plan and its writes is kept, whatever it is of', async (t) => {
  const { house, folder } = await pulled(t);
  const { id } = await assistantNamed(house, 'Support');
  const [tool] = (await call(house, 'GET', '/tools')).data;
  const list = `/assistants/${id}/tests`;
  const [test] = (await call(house, 'GET', list)).data;
  const overtaken = { code: 3, stderr: /was changed by somebody else meanwhile and is left as it is/ };

  await edit(folder, prompt, () => 'Ours');
  const greets = () => call(house, 'PATCH', `/assistants/${id}`, { greeting: 'Theirs' });
  t.match(await cli(await interrupted(t, house, /^PATCH .*\/assistants\//, greets), 'apply', folder), overtaken);
  t.match(await assistantNamed(house, 'Support'), { greeting: 'Theirs', model: { system_prompt: oddPrompt } });
  t.match(await cli(house, 'apply', folder, '--force'), { code: 0 });

  await edit(folder, orders, (before) => before.replace('calls_per_minute: 7', 'calls_per_minute: 9'));
  const bounds = () => call(house, 'PATCH', `/tools/${tool.id}`, { timeout_seconds: 5 });
  t.match(await cli(await interrupted(t, house, /^PATCH .*\/tools\//, bounds), 'apply', folder), overtaken);
  t.match((await call(house, 'GET', '/tools')).data, [{ calls_per_minute: 7, timeout_seconds: 5 }]);
  t.match(await cli(house, 'apply', folder, '--force'), { code: 0 });

  await edit(folder, order, (before) => before.replace('repeat: 2', 'repeat: 3'));
  const repeats = () => call(house, 'PATCH', `${list}/${test.id}`, { repeat: 7 });
  t.match(await cli(await interrupted(t, house, /^GET .*\/tests\/tst_/, repeats), 'apply', folder), overtaken);
  t.match((await call(house, 'GET', list)).data, [{ repeat: 7 }]);
  t.match(await cli(house, 'apply', folder, '--force'), { code: 0 });

  const late = () => call(house, 'PATCH', `/assistants/${id}`, { greeting: 'Later' });
  t.match(await cli(await interrupted(t, house, /\/publish$/, late), 'apply', folder, '--publish'), overtaken);
  t.match(await assistantNamed(house, 'Support'), { greeting: 'Later', version: null }, 'nor is it published unseen');
});

t.test('two applies that create the same at once leave one of each', async (t) => {
  const { folder } = await pulled(t);
  for (let round = 0; round < 5; round++) {
    const other = await openWorkspace();
    await credentials(other);
    const folders = await Promise.all([0, 1].map((which) => copyOf(t, folder, `made-${round}-${which}`)));
    const done = await Promise.all(folders.map((each) => cli(other, 'apply', each)));
    const codes = done.map(({ code }) => code);
    t.ok(codes.includes(0) || codes.every((code) => code === 3), JSON.stringify(done));
    const names = async (kind: string) => (await call(other, 'GET', `/${kind}`)).data.map(({ name }: any) => name);
    t.same((await names('assistants')).toSorted(), ['Support', 'Ünï / ../x']);
    t.same(await names('tools'), ['Orders / EU']);
    const last = await cli(other, 'apply', folder, '--force');
    t.equal(last.code, 0, `and whatever is missing is there after another one: ${last.stderr}`);
    t.equal((await draftOf(other, 'Support')).tools.length, 1);
    const path = `/assistants/${(await assistantNamed(other, 'Support')).id}/tests`;
    const tests = async () => (await call(other, 'GET', path)).data;
    const before = await tests();
    for (const test of before) await call(other, 'DELETE', `${path}/${test.id}`);
    await Promise.all(folders.map((each) => cli(other, 'apply', each)));
    t.same(
      (await tests()).map(({ name }: any) => name),
      before.map(({ name }: any) => name),
      'nor two tests',
    );
  }
});

t.test('two of one name, and a credential without a name, end a pull with exit 1', async (t) => {
  const house = await furnished();
  const folder = t.testdir();
  const before = await temporaryFolder(t);
  t.match(await cli(house, 'pull', before), { code: 0 });
  const { id } = await call(house, 'POST', '/assistants', { name: 'Support' });
  const twins = new RegExp(`^parley: Several assistants have one name: "Support" \\(.*\\b${id}\\b.*\\)\\.`);
  t.match(await cli(house, 'pull', folder), { code: 1, stderr: twins });
  t.same(await filesOf(folder), {}, 'and nothing is written');
  const ambiguous = new RegExp(`^parley: Several assistants are called "Support": .*\\b${id}\\b`);
  t.match(await cli(house, 'apply', before), { code: 1, stderr: ambiguous });
  for (const args of [
    ['tests', 'run', 'Support'],
    ['assistants', 'publish', 'Support'],
    ['assistants', 'rollback', 'Support'],
  ])
    t.match(await cli(house, args[0]!, ...args.slice(1)), {
      code: 2,
      stderr: new RegExp(`Several assistants are called "Support"; name one by its id: .*\\b${id}\\b`),
    });
  const nameless = await openWorkspace();
  const credential = await call(nameless, 'POST', '/credentials', { kind: 'model', provider: 'openai', api_key: 'k' });
  const model = { provider: 'openai', name: 'm', credential_id: credential.id };
  await call(nameless, 'POST', '/assistants', { name: 'A', model });
  const unnamed = new RegExp(`${credential.id} of "A" has no name, .* update ${credential.id} --name NAME`);
  t.match(await cli(nameless, 'pull', folder), { code: 1, stderr: unnamed });
});

t.test('a fault of a file is named with the file and its line, and nothing is written', async (t) => {
  const { house, folder } = await pulled(t);
  const before = (await filesOf(folder))[support]!;
  const file = join(folder, support);
  const bomb = Array.from({ length: 9 }, (_, level) =>
    level === 0 ? 'a0: &a0 [x, x, x, x, x, x, x, x, x]' : `a${level}: &a${level} [${`*a${level - 1}, `.repeat(9)}]`,
  );
  const faults: readonly (readonly [string, RegExp])[] = [
    [before.replace('temperature: 0.2', 'temperature: [0.2'), /^parley: assistants\/support\.yaml:\d+: /],
    [before.replace('temperature: 0.2', 'temperature: 9'), /support\.yaml:8: The field `model\.temperature` /],
    [before.replace('temperature', 'temprature'), /support\.yaml:8: The field `model\.temprature` is unknown\./],
    [before.replace('credential: main', 'credential: 5'), /support\.yaml:6: /],
    [before.replace('- Orders / EU', '- Nobody'), /support\.yaml:\d+: No tool is called "Nobody"/],
    [before.replace('support.md', 'gone.md'), /support\.yaml:7: There is no file assistants\/gone\.md\./],
    [before.replace('support.md', '../../../etc/passwd'), /support\.yaml:7: The field `model\.prompt_file` must be/],
    [
      before.replace('name: Support', 'name: Ünï / ../x'),
      /uni-x\.yaml:1: assistants\/support\.yaml names the assistant/,
    ],
    ['- a list\n', /support\.yaml:1: The file must contain a map of settings\./],
    [`${bomb.join('\n')}\n`, /support\.yaml:1: Excessive alias count/],
    ['['.repeat(100_000), /support\.yaml:1: Values are nested more than 64 deep\./],
    ['? '.repeat(100_000), /support\.yaml:1: Values are nested more than 64 deep\./],
    ['a: 1\n'.repeat(90_000), /support\.yaml:\d+: The file has more than 50000 words and signs\./],
    [`name: ${'x'.repeat(600_000)}\n`, /support\.yaml: The file has more than 512 KiB\./],
    ['name: a\nname: b\n', /support\.yaml:2: Map keys must be unique/],
    ['name: !!js/function x\n', /support\.yaml:1: Unresolved tag/],
  ];
  for (const [text, expected] of faults) {
    await writeFile(file, text);
    const began = process.cpuUsage();
    t.match(await cli(house, 'apply', folder, '--check'), { code: 1, stderr: expected }, String(expected));
    t.ok(process.cpuUsage(began).user < 10_000_000, 'in a moment');
  }
  await writeFile(file, Buffer.concat([Buffer.from(before), Buffer.from([0x0a, 0xff])]));
  t.match(await cli(house, 'apply', folder), { code: 1, stderr: /support\.yaml:\d+: The file is not UTF-8\./ });
  await writeFile(file, before.replace('support.md', 'link.md'));
  await symlink('/etc/hostname', join(folder, 'assistants', 'link.md'));
  t.match(await cli(house, 'apply', folder), { code: 1, stderr: /link\.md: It must be a file, and no link/ });
  await writeFile(file, before.replace('name: character_ms=5', 'name: no=5'));
  t.match(
    await cli(house, 'apply', folder),
    { code: 1, stderr: /^parley: assistants\/support\.yaml:\d+: .*`voice\.name`/ },
    'a refusal of the API as well',
  );
  t.match(await cli(house, 'apply', join(folder, 'none')), { code: 2, stderr: /There is no folder/ });
  t.match(await cli(house, 'apply'), { code: 2 });
});
