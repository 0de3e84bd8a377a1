/** The servers' part of signed visitors as docs/widget.md shows it, in four languages. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { jwt } from '../access/jwt.ts';
import { linked, Visit } from '../pages/link/visits.ts';
import { openHouse } from './house.ts';

const run = promisify(execFile);
const page = await readFile('docs/widget.md', 'utf8');

/** The one block of a language. */
function blockOf(language: string): string {
  const blocks = page.split(`\`\`\`${language}\n`).slice(1);
  if (blocks.length !== 1) throw new Error(`${blocks.length} blocks of ${language}`);
  return blocks[0]!.split('```')[0]!;
}

const name = 'Ädä "the first" 😀';

/** Each language's way to print the token of its function; the secret and the name come as arguments. */
const programs = {
  js: [
    'node',
    ['--input-type=module', '-e'],
    (code: string) => `${code}
process.stdout.write(identityOf(process.argv[1], { id: 'ada', name: process.argv[2] }));`,
  ],
  python: [
    'python3',
    ['-c'],
    (code: string) => `${code}
import sys
sys.stdout.write(identity_of(sys.argv[1], "ada", sys.argv[2]))`,
  ],
  php: [
    'php',
    ['-r'],
    (code: string) => `${code}
echo identity_of($argv[1], 'ada', $argv[2]);`,
  ],
  ruby: [
    'ruby',
    ['-e'],
    (code: string) => `${code}
print identity_of(ARGV[0], "ada", ARGV[1].dup.force_encoding("UTF-8"))`,
  ],
} as const;

/** The token that a language makes; null where its interpreter is not installed. */
async function tokenOf(language: keyof typeof programs, secret: string): Promise<string | null> {
  const [program, switches, printing] = programs[language];
  const separator = language === 'php' ? ['--'] : [];
  try {
    return (await run(program, [...switches, printing(blockOf(language)), ...separator, secret, name])).stdout;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return null;
    throw error;
  }
}

const partOf = (token: string, at: number): any =>
  JSON.parse(Buffer.from(token.split('.')[at]!, 'base64url').toString('utf8'));

t.test('each language of docs/widget.md signs a visitor whom the server verifies', async (t) => {
  const house = await openHouse(t);
  const assistant = await linked(house, 'documented');
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}/link/identity`;
  const { secret } = (await house.console(path, { method: 'POST' })).json;
  const ids = new Set<string>();
  for (const language of Object.keys(programs) as (keyof typeof programs)[]) {
    const token = await tokenOf(language, secret);
    if (token === null) {
      t.comment(`${language} is not installed`);
      continue;
    }
    const { exp, ...claims } = partOf(token, 1);
    t.same(
      [partOf(token, 0), claims],
      [
        { alg: 'HS256', typ: 'JWT' },
        { sub: 'ada', visitor: { name } },
      ],
      language,
    );
    t.ok(Number.isSafeInteger(exp), `${language}: whole seconds`);
    t.ok(Math.abs(exp - Date.now() / 1000 - 3600) < 600, `${language}: an hour`);
    t.match(token, /^[\w-]+\.[\w-]+\.[\w-]{43}$/, `${language}: base64url without padding`);
    const visit = await Visit.to(house, 'documented', { body: { channel: 'link', identity: token } });
    t.match(await visit.session(), { visitor_verified: true, visitor: { name } }, language);
    ids.add(visit.id);
  }
  const ours = jwt(secret, { sub: 'ada', exp: Math.floor(Date.now() / 1000) + 60 });
  ids.add((await Visit.to(house, 'documented', { body: { channel: 'link', identity: ours } })).id);
  t.equal(ids.size, 1, 'all of them name the same visitor');
});

t.test('the snippets have the same claims, the same hour and the same digest', async (t) => {
  for (const language of Object.keys(programs)) {
    const code = blockOf(language);
    for (const needed of [/\bHS256\b/, /\bJWT\b/, /\bsub\b/, /\bexp\b/, /\bvisitor\b/, /\b3600\b/, /sha256/i])
      t.match(code, needed, language);
    for (const [open, close] of ['()', '[]', '{}'])
      t.equal(code.split(open!).length, code.split(close!).length, `${language}: ${open}${close} are balanced`);
  }
});
