/**
 * Handles errors that no function has caught: a promise ends one piece of work, an exception ends the process, and the
 * log has both without their messages.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openHouse } from '../api/house.ts';
import { lineOf } from '../api/supervised.ts';
import { until } from '../api/talk.ts';

const source = (name: string): string =>
  JSON.stringify(fileURLToPath(new URL(`../../src/base/${name}`, import.meta.url)));

function run(script: string): { code: number | null; lines: any[] } {
  const program = `
    import { openLog } from ${source('log.ts')};
    import { WheelClock } from ${source('clock.ts')};
    import { watchUnhandled } from ${source('unhandled.ts')};
    const clock = new WheelClock();
    let count = 0;
    const log = openLog('info', clock);
    watchUnhandled(log, { inc: () => count++ });
    ${script}`;
  const { status, stdout } = spawnSync(process.execPath, ['--import=tsx', '--input-type=module', '-e', program], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  });
  return {
    code: status,
    lines: stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  };
}

t.test('a promise that rejects unheard is logged and counted, and the process goes on', async (t) => {
  const { code, lines } = run(`
    const fault = Object.assign(new TypeError('what a client said'), { code: 'EMFILE' });
    clock.after(1, async () => {
      setImmediate(() => {
        setImmediate(() => {
          setImmediate(() => log.info({ count }, 'alive'));
          Promise.reject(null);
        });
        Promise.reject('what another said');
      });
      throw fault;
    });`);
  t.equal(code, 0);
  t.match(lines, [
    { level: 'error', name: 'TypeError', code: 'EMFILE', at: [/^at /], msg: 'unhandled rejection' },
    { level: 'error', name: 'string', code: null, at: [], msg: 'unhandled rejection' },
    { level: 'error', name: 'object' },
    { msg: 'alive', count: 3 },
  ]);
  t.notMatch(JSON.stringify(lines), /said/);
});

t.test('an exception that nothing caught ends the process, after a line', async (t) => {
  const { code, lines } = run(
    `clock.after(1, () => { throw new RangeError('what a client said'); }); clock.after(1000, () => log.info('alive'));`,
  );
  t.equal(code, 1);
  t.match(lines, [{ level: 'fatal', name: 'RangeError', at: [/^at /], msg: 'uncaught exception: the process ends' }]);
  t.equal(lines.length, 1);
  t.notMatch(JSON.stringify(lines), /said/);
});

t.test('a server counts from 0, and serves on', async (t) => {
  const fault = "process.on('SIGWINCH', () => void Promise.reject(new Error('fault')));";
  const house = await openHouse(t, {
    env: { PARLEY_LOG: 'info', NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` },
  });
  t.match((await house.ask('/metrics')).text, /\nparley_unhandled_rejections_total 0\n/);
  house.child.kill('SIGWINCH');
  await lineOf(house, ({ msg }) => msg === 'unhandled rejection');
  t.ok(await until(async () => /\nparley_unhandled_rejections_total 1\n/.test((await house.ask('/metrics')).text)));
  t.same(await house.stop(), { code: 0, signal: null });
});
