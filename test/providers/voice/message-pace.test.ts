/** The pace of text messages and pings on every socket of the server (contract 8). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { edge, openHouse, type House } from '../../api/house.ts';
import { limits } from '../../../src/base/limits.ts';
import { speaker, talk, type Talker } from './talker.ts';

/** Beyond the pace however long it takes to send them: twenty seconds' worth. */
const many = limits.socketTextsMax + 20 * limits.socketTextsPerSecond;

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  const { id } = await speaker(house, { voice: { provider: 'synthetic' } });
  await t.test('a transcription socket closes on messages beyond the pace', (t) => transcription(t, house, id));
  await t.test('a watcher of the console', (t) => watcher(t, house));
});

const error = { type: 'error', code: 'invalid_request', message: String };

async function transcription(t: Test, house: House, id: string): Promise<void> {
  const kinds: Readonly<Record<string, (talker: Talker) => void>> = {
    flushes: (talker) => talker.send({ type: 'flush' }),
    starts: (talker) => talker.send({ type: 'start' }),
    pings: ({ socket }) => socket.ping(),
  };
  for (const [name, send] of Object.entries(kinds)) {
    const talker = await talk(house, id);
    for (let sent = 0; sent < many; sent++) send(talker);
    t.equal(await talker.closed, 1008, name);
    t.match(talker.heard.slice(1), [error], 'the error alone, once');
  }

  const patient = await talk(house, id);
  for (let sent = 0; sent < limits.socketTextsMax / 2; sent++) {
    patient.send({ type: 'flush' });
    patient.socket.ping();
  }
  const [pong] = await once(patient.socket, 'pong');
  t.equal(String(pong), '', 'as many as are allowed at once are answered');
  patient.socket.terminate();

  const marked = await talk(house, id);
  marked.send('\ufeff{"type":"flush"}');
  marked.send('\ufeff{"type":"finish"}');
  t.equal(await marked.closed, 1000, 'a byte order mark before a message is ignored');

  const finished = await talk(house, id);
  finished.send({ type: 'finish' });
  for (let sent = 0; sent < many; sent++) finished.send({ type: 'flush' });
  t.equal(await finished.closed, 1000, 'what follows finish is ignored');
}

async function watcher(t: Test, house: House): Promise<void> {
  for (const format of ['', '?format=stately']) {
    for (const send of [
      (socket: WebSocket) => socket.send('{"type":"unwatch"}'),
      (socket: WebSocket) => socket.ping(),
    ]) {
      const socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect${format}`, {
        headers: { authorization: `Bearer ${house.operatorToken}` },
      });
      let last: unknown = null;
      socket.on('error', () => {}).on('message', (data) => (last = JSON.parse(String(data))));
      await once(socket, 'open');
      for (let sent = 0; sent < many; sent++) send(socket);
      t.same(await once(socket, 'close').then(([code]) => code), 1008);
      t.match(last, error);
    }
  }
}
