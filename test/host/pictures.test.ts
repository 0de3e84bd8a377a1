/** Pictures of the live actors cost much where many live, so they are made one after another. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { Pictures, type PictureReceiver, pictureMsFree, pictureRestTimes } from '../../src/host/pictures.ts';
import { ManualClock } from '../providers/model/provider.ts';

/** Pictures that take so long, and watchers who note in `given` what they get. */
function scene(tookMs = 0) {
  const clock = new ManualClock();
  const given: string[] = [];
  const pictures = new Pictures(clock, async () => () => {
    clock.advance(tookMs);
    return [];
  });
  const watcher = (name: string): PictureReceiver<unknown> => ({ asked() {}, give: () => void given.push(name) });
  return { clock, given, pictures, watcher };
}

t.test('a watcher with many requests gets one picture', async (t) => {
  const { given, pictures, watcher } = scene();
  const one = watcher('one');
  for (let time = 0; time < 1_000; time++) pictures.request(one);
  t.same(given, [], 'not within the call');
  for (let turn = 0; turn < 5; turn++) await turnOfTheLoop();
  t.same(given, ['one']);
  pictures.request(one);
  for (let turn = 0; turn < 5; turn++) await turnOfTheLoop();
  t.same(given, ['one', 'one'], 'and another one later');
});

t.test('several watchers get their pictures in order, at most one in an iteration of the event loop', async (t) => {
  const { given, pictures, watcher } = scene();
  const [left, ...watchers] = Array.from({ length: 6 }, (_, at) => watcher(`${at}`));
  for (const each of [left!, ...watchers]) pictures.request(each);
  pictures.withdraw(left!);
  for (let turn = 0, before = 0; turn < 10; turn++) {
    await turnOfTheLoop();
    t.ok(given.length <= before + 1);
    before = given.length;
  }
  t.same(given, ['1', '2', '3', '4', '5'], 'but not the one that has left');
});

t.test('a watcher that leaves while others answer costs no picture', async (t) => {
  let made = 0;
  let answer!: () => void;
  const pictures = new Pictures(
    new ManualClock(),
    () => new Promise<() => number>((resolve) => (answer = () => resolve(() => ++made))),
  );
  const order: string[] = [];
  const receiver = (name: string): PictureReceiver<number> => ({
    asked: () => void order.push(`${name} asked`),
    give: () => void order.push(`${name} given`),
  });
  const [one, two] = [receiver('one'), receiver('two')];
  pictures.request(one);
  pictures.request(two);
  await turnOfTheLoop();
  pictures.withdraw(one);
  answer();
  for (let turn = 0; turn < 3; turn++) await turnOfTheLoop();
  answer();
  for (let turn = 0; turn < 3; turn++) await turnOfTheLoop();
  t.same(order, ['one asked', 'two asked', 'two given']);
  t.equal(made, 1);
});

t.test('a slow picture is followed by a pause of several times its duration', async (t) => {
  const tookMs = pictureMsFree + 10;
  const { clock, given, pictures, watcher } = scene(tookMs);
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await turnOfTheLoop();
  };
  pictures.request(watcher('one'));
  pictures.request(watcher('two'));
  await turns();
  t.same(given, ['one']);
  clock.advance(pictureRestTimes * tookMs - 1);
  await turns();
  t.same(given, ['one']);
  clock.advance(1);
  await turns();
  t.same(given, ['one', 'two']);
});

t.test('a picture that fails leaves the others their pictures', async (t) => {
  const clock = new ManualClock();
  const given: string[] = [];
  let fails = true;
  const pictures = new Pictures(clock, async () => {
    if (fails) throw new Error('fails');
    return () => [];
  });
  const unhandled = new Promise((resolve) => process.once('unhandledRejection', resolve));
  pictures.request({ asked() {}, give: () => void given.push('one') });
  pictures.request({ asked() {}, give: () => void given.push('two') });
  t.match(await unhandled, { message: 'fails' }, 'which the process logs');
  fails = false;
  for (let turn = 0; turn < 5; turn++) await turnOfTheLoop();
  t.same(given, ['two']);
});
