import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { openUwsEdge } from '../../../src/http/edge/uws.ts';
import { bounds, deaf } from './harness.ts';

t.test('where the native part does not load, the reason is told', async (t) => {
  // A Node version that there is no binary for.
  Object.defineProperty(process.versions, 'node', { value: '1.0.0' });
  const clock = new WheelClock();
  await t.rejects(openUwsEdge(deaf, bounds, clock), {
    message: `uWebSockets.js does not load on ${process.platform} ${process.arch} with Node ${process.version}.`,
  });
  clock.stop();
});
