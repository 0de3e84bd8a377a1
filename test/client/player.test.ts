/** The player that writes to a stream: its pace, its holds, and its word on the position. */
import t from 'tap';
import { StreamPlayer } from '../../src/client/player.ts';
import { HandClock } from './scene.ts';

function scene(): { clock: HandClock; player: StreamPlayer; written: () => number; told: [string, number][] } {
  const clock = new HandClock();
  let bytes = 0;
  const player = new StreamPlayer((audio) => (bytes += audio.length), { sampleRate: 8000, latencyMs: 100, clock });
  const told: [string, number][] = [];
  player.onPlayed = (id, samples) => told.push([id, samples]);
  return { clock, player, written: () => bytes / 2, told };
}

const advance = (clock: HandClock, ms: number): void => {
  for (let at = 0; at < ms; at += 10) clock.advance(10);
};

t.test('it writes a moment ahead of what is played, and tells of the end', (t) => {
  const { clock, player, written, told } = scene();
  player.play('msg_1', new Uint8Array(2 * 4000));
  player.play('msg_1', new Uint8Array(2 * 4000));
  t.equal(written(), 160, 'one beat; the first sample is due in 100 ms');
  advance(clock, 500);
  t.ok(written() <= (500 + 20) * 8 && written() >= 480 * 8, `${written()} samples`);
  const [, position] = told.at(-1)!;
  t.ok(position >= 280 * 8 && position <= 400 * 8, `${position} played`);
  advance(clock, 700);
  t.equal(written(), 8000);
  t.same(told.at(-1), ['msg_1', 8000]);
  t.equal(clock.timers, 0, 'and rests');
  t.ok(
    told.every(([, samples], index) => index === 0 || samples >= told[index - 1]![1]),
    'it never falls',
  );
  player.play('msg_1', new Uint8Array(2 * 80));
  advance(clock, 200);
  t.same(told.at(-1), ['msg_1', 8080], 'after a gap it goes on');
  t.end();
});

t.test('a hold keeps the place, and what was written counts as heard', (t) => {
  const { clock, player, written } = scene();
  player.play('msg_1', new Uint8Array(2 * 8000));
  advance(clock, 300);
  const held = player.pause('msg_1');
  t.equal(held, written());
  advance(clock, 1000);
  player.play('msg_1', new Uint8Array(2 * 8000));
  t.equal(written(), held);
  t.equal(player.pause('msg_2'), 0, 'a message that it does not know');
  player.resume('msg_2');
  t.equal(clock.timers, 0);
  player.resume('msg_1');
  advance(clock, 300);
  t.ok(written() > held);
  t.equal(player.clear('msg_1'), written());
  const cleared = written();
  advance(clock, 1000);
  t.equal(written(), cleared);
  player.play('msg_2', new Uint8Array(2 * 80));
  t.equal(written(), cleared + 80, 'the next message begins at once');
  player.close();
  t.equal(clock.timers, 0);
  t.equal(player.onPlayed, null);
  t.end();
});
