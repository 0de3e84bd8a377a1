/** A worker of `sharing.ts`: an edge that answers with the worker's number until it gets the message to end. */
import cluster from 'node:cluster';
import { WheelClock } from '../../../src/base/clock.ts';
import { openNodeEdge } from '../../../src/http/edge/node.ts';
import { openUwsEdge } from '../../../src/http/edge/uws.ts';
import { bounds, deaf } from './harness.ts';

const [engine, port] = process.argv.slice(2);
const open = engine === 'uws' ? openUwsEdge : openNodeEdge;
const listener = { ...deaf, exchange: (exchange: any) => exchange.respond(200, {}, String(cluster.worker!.id)) };
const edge = await open(listener, bounds, new WheelClock());
await edge.listen('127.0.0.1', Number(port), true);
process.once('message', () => void edge.close(0).then(() => process.exit(0)));
process.send!('listening');
