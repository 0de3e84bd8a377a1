/** The pace of a client's reports of what was played (contract 18). */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { PlayedReports } from '../../../src/conversation/call/played-reports.ts';
import { ManualClock } from '../../providers/model/provider.ts';

function opened() {
  const clock = new ManualClock();
  const taken: [string, number][] = [];
  const reports = new PlayedReports({
    clock,
    knows: (id) => id.startsWith('msg_'),
    take: (id, samples) => void taken.push([id, samples]),
  });
  return { clock, reports, taken };
}

/** Uses up the reports that may come at once. */
function spent(): ReturnType<typeof opened> {
  const scene = opened();
  for (let at = 0; at < limits.socketTextsMax; at++) scene.reports.add('msg_1', at);
  scene.taken.length = 0;
  return scene;
}

t.test('as many reports as texts may come at once are passed on at once', async (t) => {
  const { reports, taken } = opened();
  for (let at = 0; at < limits.socketTextsMax + 50; at++) reports.add('msg_1', at);
  t.equal(taken.length, limits.socketTextsMax);
});

t.test('beyond the pace the highest report of each message is passed on, as often as texts may come', async (t) => {
  const { clock, reports, taken } = spent();
  for (let ms = 0; ms < 10_000; ms += 5) {
    reports.add('msg_1', ms);
    reports.add('msg_1', ms - 3);
    reports.add('other', ms);
    clock.advance(5);
  }
  t.ok(taken.length >= 199 && taken.length <= 201, `${taken.length} in ten seconds`);
  t.same(taken.at(-1), ['msg_1', 9_995]);
  t.ok(
    taken.every(([id, samples], at) => id === 'msg_1' && (at === 0 || samples > taken[at - 1]![1])),
    'in order, and of known messages alone',
  );
});

t.test('the reports of two messages wait beside one another', async (t) => {
  const { clock, reports, taken } = spent();
  reports.add('msg_1', 500);
  reports.add('msg_2', 20);
  t.same(taken, []);
  clock.advance(50);
  t.same(taken, [
    ['msg_1', 500],
    ['msg_2', 20],
  ]);
  t.equal(clock.timers, 0);
});

t.test('reports that wait are passed on before a command, and dropped at the end', async (t) => {
  const { clock, reports, taken } = spent();
  reports.add('msg_1', 500);
  reports.flush();
  t.same(taken, [['msg_1', 500]]);
  reports.add('msg_1', 600);
  reports.close();
  clock.advance(1_000);
  t.same([taken.length, clock.timers], [1, 0]);
});
