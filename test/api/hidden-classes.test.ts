/**
 * Code that runs for each piece, turn or answer makes no hidden classes of V8
 * (docs/decisions/0112-no-fields-after-a-spread-on-hot-paths.md).
 */
import { readFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { temporaryFolder } from '../folders.ts';
import { openHouse } from './house.ts';
import { say, sessionOf, synthetic } from './talk.ts';

const turns = 80;
/** Other versions write another log, and need not be afraid of spreads. */
const skip = process.versions.v8.startsWith('11.3.') ? false : `V8 is ${process.versions.v8}, not 11.3`;

t.test('turns of several pieces, and answers in JSON', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const [log, node] = [join(folder, 'v8.log'), join(folder, 'node')];
  const flags = `--log-maps --no-log-maps-details --no-logfile-per-isolate --logfile='${log}'`;
  await writeFile(node, `#!/bin/sh\nexec '${process.execPath}' ${flags} "$@"\n`);
  await chmod(node, 0o700);
  const before = performance.now();
  const house = await openHouse(t, { node, env: { PARLEY_EDGE: 'uws' } });
  // The log's times run from the start of the process, which is later than `before`.
  const readyMicroseconds = (performance.now() - before) * 1000;
  const assistant = await synthetic(house, 'tokens=6,delay_ms=6');
  const { id } = await house.session(assistant.id);
  for (let turn = 0; turn < turns; turn++) {
    const events = await (await say(house, id)).rest();
    t.equal(events.at(-1)!.event, 'turn.completed');
    t.equal((await sessionOf(house, id)).id, id);
  }
  await house.stop();
  // map,Transition,time,from,to,pc,line,column,reason,name: "prototype" is the reason where the way to the new class is
  // kept nowhere.
  const made = new Map<string, number>();
  let read = 0;
  for (const line of (await readFile(log, 'latin1')).split('\n')) {
    const [, change, time, , , , at, , reason, name] = line.split(',');
    if (change !== 'Transition') continue;
    read++;
    // Classes made once, at the start, do not matter.
    if (reason !== 'prototype' || Number(time) < readyMicroseconds) continue;
    const where = `${name} in ${fileOf(Number(at))}`;
    made.set(where, (made.get(where) ?? 0) + 1);
  }
  t.ok(read > 0, 'the log can be read');
  t.same(
    [...made].filter(([where, count]) => count >= turns / 2 && !where.includes(scraped)),
    [],
  );
});

/** Makes an object for each bucket of a histogram, when the metrics are read. */
const scraped = 'node_modules/prom-client/';

const bundled = readFileSync(new URL('../../dist/server.cjs', import.meta.url), 'utf8').split('\n');

/**
 * The file that a line of the bundle comes from: esbuild writes its path before it. The log names no script, so a line
 * of Node's own files counts as the line of the bundle with its number.
 */
function fileOf(line: number): string {
  while (line > 0 && !/^ *\/\/ (src|machines|node_modules)\//.test(bundled[--line] ?? '')) continue;
  return (bundled[line] ?? '').trim().slice(3);
}
