/** The commands of docs/desk.md, in their order, at a server as `npm start` leaves it. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { openHouse } from './api/house.ts';
import { start } from './cli/support.ts';

t.test('the commands from switching the desk on to a returned conversation work as they stand', async (t) => {
  const text = await readFile(new URL('../docs/desk.md', import.meta.url), 'utf8');
  t.ok(text.trimEnd().split('\n').length <= 120, 'the page is short');
  const scripts = [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, script]) => script!.trimEnd().split('\n'));
  t.same(
    scripts.map(({ length }) => length),
    [7, 1],
  );
  const house = await openHouse(t);
  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
  /** Input of the two people. */
  const typed = ['I look into it.\n/release\n', 'It is found.\n/return\n'];
  const said: string[] = [];
  for (const command of scripts.flat()) {
    const words = [...command.replace(/ +# .*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, bare]) => quoted ?? bare!,
    );
    t.same(words.slice(0, 2), ['npx', 'parley']);
    const input = words[3] === 'take' ? typed.shift()! : '';
    const { code, stdout, stderr } = await start(t, words.slice(2), { env, input }).finished;
    t.equal(code, 0, `${command}: ${stdout}${stderr}`);
    said.push(stdout);
  }
  t.match(said[2], /waiting .* demo .* My parcel is lost\.$/m);
  t.match(said[4], /I look into it\./, 'the second person reads what the first one said');
  t.match(said[5], /^Nobody waits/);
  t.match(said[7], /as attendant of/);
  const { data } = (await house.console(`/workspaces/${house.workspaceId}/sessions`)).json;
  t.match(data, [{ status: 'open', attendance: { state: 'assistant' } }]);
  const { totals } = (await house.console(`/workspaces/${house.workspaceId}/usage`)).json;
  t.match(totals, { handovers: 2, person_messages: 2 });
});
