/** The commands of docs/releases.md, in their order, at a server as `npm start` leaves it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openHouse } from './api/house.ts';
import { end, say } from './api/talk.ts';
import { start } from './cli/support.ts';

t.test('the commands from an edit to a rollback work as they stand', async (t) => {
  const text = await readFile(new URL('../docs/releases.md', import.meta.url), 'utf8');
  t.ok(text.trimEnd().split('\n').length <= 120, 'the page is short');
  const [, script] = /^```sh\n([^]*?)^```$/m.exec(text)!;
  const commands = script!.trimEnd().split('\n');
  t.equal(commands.length, 10, 'ten commands');
  const house = await openHouse(t);
  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
  const cwd = t.testdir();
  const path = `/workspaces/${house.workspaceId}/assistants`;
  const { json: assistants } = await house.console(path);
  const session = await house.session(assistants.data[0].id);
  await (await say(house, session.id, 'Hello')).rest();
  await end(house, session.id);
  const said: string[] = [];
  for (const command of commands) {
    const words = [...command.replace(/ +# .*$/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, bare]) => quoted ?? bare!,
    );
    t.same(words.slice(0, 2), ['npx', 'parley']);
    const { code, stdout, stderr } = await start(t, words.slice(2), { env, cwd }).finished;
    t.equal(code, 0, `${command}: ${stdout}${stderr}`);
    said.push(stdout);
  }
  t.match(said[2], /greeting: .*Welcome back!/);
  t.match(said[4], /^passed  Greets [^]*has passed: 1 test;/);
  t.match(await readFile(join(cwd, 'reports', 'demo.xml'), 'utf8'), /<testcase name="Greets"/);
  t.match(said[5], /^1 conversation without a difference\./);
  t.match(said[7], /candidate/);
  const { json } = await house.console(path);
  t.match(json.data[0], { name: 'demo', version: 1, greeting: 'Welcome back!' }, 'rolled back; the draft stays');
});
