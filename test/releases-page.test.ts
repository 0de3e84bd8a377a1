/** The commands of docs/releases.md, in their order, at a server as `npm start` leaves it. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { openHouse } from './api/house.ts';
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
  t.match(said[4], /candidate/);
  t.match(said[9], /^Nothing to do: /);
  const { json } = await house.console(`/workspaces/${house.workspaceId}/assistants`);
  t.match(json.data[0], { name: 'demo', version: 1, greeting: 'Welcome back!' }, 'rolled back; the draft stays');
});
