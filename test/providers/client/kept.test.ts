/**
 * The pool over sockets that a test simulates: the connections kept when there are very many, and races between two
 * events.
 */
import t from 'tap';
import type { ProviderConnection, ConnectionUser } from '../../../src/providers/client/connection.ts';
import type { Dialer, DialListener } from '../../../src/providers/client/dial.ts';
import { Pool, providerKeptMsMax, providerKeptTotalMax } from '../../../src/providers/client/pool.ts';
import { targetOf } from '../../../src/providers/client/target.ts';
import { ManualClock } from '../model/provider.ts';
import { answerOf } from './raw.ts';

interface Line {
  readonly listener: DialListener;
  readonly socket: { destroyed: boolean };
}

/** A dialer whose sockets close only when the test closes them. */
class PlayedDialer {
  readonly lines: Line[] = [];

  open(_target: unknown, listener: DialListener): unknown {
    const socket = { destroyed: false, writableLength: 0, write: () => true, destroy: () => (socket.destroyed = true) };
    this.lines.push({ listener, socket });
    return socket;
  }
}

const nobody: ConnectionUser = { head() {}, data() {}, ended() {}, failed() {} };
const answer = Buffer.from(answerOf('hi'));

function play(clock = new ManualClock()) {
  const dialer = new PlayedDialer();
  const pool = new Pool(clock, dialer as unknown as Dialer);
  const take = (host: string): ProviderConnection => pool.take(targetOf(`http://${host}/`, true)!, false)!;
  /** A request and its answer on a new connection, which is then kept if the pool wants it. */
  const use = (host: string): Line => {
    take(host).send(answer, nobody);
    const line = dialer.lines.at(-1)!;
    line.listener.connected();
    line.listener.read(answer, answer.length);
    return line;
  };
  return { clock, dialer, pool, take, use };
}

t.test('connections kept over all origins are bounded', async (t) => {
  const { use } = play();
  for (let index = 0; index < providerKeptTotalMax; index++) t.equal(use(`h${index}.test`).socket.destroyed, false);
  t.equal(use('more.test').socket.destroyed, true);
});

t.test('only open connections count', async (t) => {
  const { use } = play();
  for (let index = 0; index < providerKeptTotalMax; index++) {
    const { listener } = use(`h${index}.test`);
    if (index % 2 === 0) listener.finished();
    listener.closed(null);
  }
  t.equal(use('more.test').socket.destroyed, false);
});

t.test('only idle, unexpired connections count', async (t) => {
  const { use, take, clock } = play();
  for (let round = 0; round < 3; round++) {
    for (let index = 0; index < providerKeptTotalMax; index++) use(`h${index}.test`);
    clock.advance(providerKeptMsMax);
  }
  for (let index = 0; index < providerKeptTotalMax; index++) {
    use(`h${index}.test`);
    take(`h${index}.test`);
  }
  t.equal(use('more.test').socket.destroyed, false);
});

t.test('one whose socket is gone, or whose time is over, is not used though no event has told so yet', async (t) => {
  const late = new (class extends ManualClock {
    override after() {
      return { cancel: () => undefined };
    }
  })();
  const { use, take, dialer, clock } = play(late);
  use('a.test').socket.destroyed = true;
  take('a.test');
  t.equal(dialer.lines.length, 2);
  const kept = use('b.test');
  clock.advance(providerKeptMsMax);
  take('b.test');
  t.equal(dialer.lines.length, 4);
  t.equal(kept.socket.destroyed, true);
});

t.test('closing waits for every socket', async (t) => {
  const { pool, use, dialer } = play();
  use('a.test');
  use('b.test');
  let done = false;
  const closing = pool.close().then(() => (done = true));
  dialer.lines[0]!.listener.closed(null);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(done, false);
  dialer.lines[1]!.listener.closed(null);
  await closing;
});
