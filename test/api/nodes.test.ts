/**
 * The server under the versions of Node that are kept up, beside the one that runs the tests, on LMDB: a conversation
 * and an abort on each HTTP engine that loads there; a restart and an export, which no engine has a part in, on one.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { otherNode, otherVersions, type OtherNode } from '../nodes.ts';
import { openHouse, textOf, type House } from './house.ts';
import { abort, begin, say, synthetic, transcriptOf } from './talk.ts';

const store = { PARLEY_STORE: 'lmdb:./data', PARLEY_LOG: 'info' };

/** Returns the engine that serves, and whether the log names the absence of the other one. */
const engineOf = (house: House): { engine: string | undefined; told: boolean } => ({
  engine: /"engine":"(\w+)"/.exec(house.stdout())?.[1],
  told: /uWebSockets\.js does not load here: node:http serves instead/.test(house.stdout()),
});

async function converse(t: Test, house: House): Promise<string> {
  const brief = await synthetic(house, 'tokens=3');
  const { id, stream } = await begin(house, brief.id);
  const events = await stream.rest();
  t.equal(events.at(-1)!.event, 'turn.completed');
  t.equal((await transcriptOf(house, id))[1].content, textOf(events));
  const flowing = await synthetic(house, 'tokens=100000,delay_ms=5');
  const talk = await begin(house, flowing.id);
  await talk.stream.next();
  t.equal((await abort(house, talk.id, talk.stream.turnId)).json.status, 'aborted');
  t.equal((await talk.stream.rest()).at(-1)!.event, 'turn.aborted');
  return id;
}

async function serves(
  t: Test,
  { program }: OtherNode,
  path: string,
  edge: 'uws' | 'node' | null,
): Promise<string | undefined> {
  const folder = await temporaryFolder(t);
  const options = { folder, command: path, node: program, env: { ...store, PARLEY_EDGE: edge ?? '' } };
  const house = await openHouse(t, options);
  const id = await converse(t, house);
  t.same(await house.stop(), { code: 0, signal: null });
  // The log holds its lines for some milliseconds: all of them have been read once the process has ended.
  const { engine, told } = engineOf(house);
  t.equal(engine, edge ?? (told ? 'node' : 'uws'), 'where uws does not load node:http serves, and it is told');
  if (edge !== null) return engine;
  const again = await openHouse(t, options);
  t.equal((await (await say(again, id)).rest()).at(-1)!.event, 'turn.completed', 'on what was stored');
  const file = join(folder, 'parley.jsonl.gz');
  await promisify(execFile)(program, [path, 'export', '--out', file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PARLEY_STORE: 'lmdb:./data' },
  });
  t.equal(
    gunzipSync(await readFile(file))
      .toString()
      .match(/"type":"message"/g)?.length,
    6,
  );
  return engine;
}

const isAsked = process.env['PARLEY_TEST_NODES'] === 'all';

for (const [index, version] of otherVersions.entries()) {
  const other = index === 0 || isAsked ? await otherNode(version) : 'asked for with PARLEY_TEST_NODES=all';
  t.test(`Node ${version}`, { skip: typeof other === 'string' && other }, async (t) => {
    const node = other as OtherNode;
    const command = node.command(t);
    const engine = await serves(t, node, command, null);
    t.comment(`Node ${version} serves on ${engine}`);
    if (engine !== 'node') await serves(t, node, command, 'node');
  });
}
