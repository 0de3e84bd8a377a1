import t from 'tap';
import { openNodeEdge } from '../../../src/http/edge/node.ts';
import { openUwsEdge } from '../../../src/http/edge/uws.ts';
import { edgeContract } from './contract.ts';
import { sharingContract } from './sharing.ts';
import { socketContract } from './sockets.ts';

await t.test('the engine `node` keeps the contract', async (t) => {
  await edgeContract(t, openNodeEdge);
  await socketContract(t, openNodeEdge);
  await sharingContract(t, openNodeEdge, 'node');
});
await t.test('the engine `uws` keeps the contract', async (t) => {
  await edgeContract(t, openUwsEdge);
  await socketContract(t, openUwsEdge);
  await sharingContract(t, openUwsEdge, 'uws');
});
