import t from 'tap';
import { openNodeEdge } from '../../../src/http/edge/node.ts';
import { openUwsEdge } from '../../../src/http/edge/uws.ts';
import { edgeContract } from './contract.ts';
import { sharingContract } from './sharing.ts';
import { socketContract } from './sockets.ts';

await t.test('node', async (t) => {
  await edgeContract(t, openNodeEdge);
  await socketContract(t, openNodeEdge);
  await sharingContract(t, openNodeEdge, 'node');
});
await t.test('uws', async (t) => {
  await edgeContract(t, openUwsEdge);
  await socketContract(t, openUwsEdge);
  await sharingContract(t, openUwsEdge, 'uws');
});
