/** Checks of a cluster alone: members, slots and their moves, the replicas of each primary. */
import { fail, ok, warn } from '../../doctor/check.ts';
import type { Finding } from '../../doctor/check.ts';
import { reportedIn } from '../connection/open-slots.ts';
import { textOfReply } from '../reply.ts';
import type { Node } from './node.ts';

/** Seconds by which a replica may lag. */
const doctorReplicaLagSeconds = 10;

export interface ClusterNode {
  readonly address: string;
  readonly primary: boolean;
  /** Whether it has slots. */
  readonly holds: boolean;
  /** Whether the other members consider it dead. */
  readonly failed: boolean;
}

const slotsAll = 16_384;

/**
 * The members as one of them lists them. Its own host may be empty in that list; then it is the host it was reached at.
 */
export async function membersOf(node: Node): Promise<ClusterNode[]> {
  const ownHost = node.address.slice(0, node.address.lastIndexOf(':'));
  const lines = textOfReply(await node.ask('CLUSTER', 'NODES'))
    .trim()
    .split('\n');
  return lines.map((line) => {
    const [, place = '', flagged = '', , , , , , ...slots] = line.split(' ');
    const [address = ''] = place.split('@');
    const flags = flagged.split(',');
    return {
      address: address.startsWith(':') ? `${ownHost}${address}` : address,
      primary: flags.includes('master'),
      holds: slots.some((range) => !range.startsWith('[')),
      failed: flags.includes('fail') || flags.includes('noaddr'),
    };
  });
}

/** Whether the whole cluster accepts steps: state ok, every slot served. */
export async function clusterState(node: Node): Promise<Finding> {
  const facts = new Map(
    textOfReply(await node.ask('CLUSTER', 'INFO'))
      .split('\r\n')
      .map((line) => line.split(':', 2) as [string, string]),
  );
  const [state, served] = [facts.get('cluster_state'), Number(facts.get('cluster_slots_ok'))];
  const coverage = `state ${state}, ${served} of ${slotsAll} slots served by ${facts.get('cluster_size')} primaries`;
  if (served < slotsAll) {
    return fail(
      coverage,
      `Workspaces in the other slots answer 503. Start the primaries that are down again; slots that they no longer have: redis-cli --cluster fix ${node.address}.`,
    );
  }
  return state === 'ok' ? ok(coverage) : fail(coverage, `redis-cli --cluster check ${node.address} says why.`);
}

/** Whether a primary has a slot that is on its way from or to another. */
export async function slotsClosed(node: Node): Promise<Finding> {
  const { open } = reportedIn(textOfReply(await node.ask('CLUSTER', 'NODES')));
  if (open.length === 0) return ok('no slot is being moved');
  return warn(
    `${open.length === 1 ? `slot ${open[0]} is` : `slots ${open.join(', ')} are`} being moved, or the move was broken off: workspaces there answer 503`,
    `Wait until the move has ended. If nothing moves slots any more: redis-cli --cluster fix ${node.address}.`,
  );
}

/** Whether each primary's replicas follow it; for a primary without replicas, whether that matters. */
export function replicasOf(
  node: Node,
  { durability, cluster }: { readonly durability: string; readonly cluster: boolean },
): Finding {
  const all = node.replicas();
  const lag = (replica: ReadonlyMap<string, string>): number => Number(replica.get('lag') ?? 0);
  const following = all.filter(
    (replica) => replica.get('state') === 'online' && lag(replica) <= doctorReplicaLagSeconds,
  );
  const add = cluster
    ? `redis-cli --cluster add-node NEW:PORT ${node.address} --cluster-slave`
    : `redis-cli -p REPLICA REPLICAOF ${node.address.replace(/:(\d+)$/, ' $1')}`;
  if (following.length === 0 && durability.startsWith('replicated')) {
    return fail(
      `no replica follows (${all.length} known): PARLEY_DURABILITY=${durability} refuses every step that matters`,
      `${add}, or PARLEY_DURABILITY=committed.`,
    );
  }
  if (all.length === 0)
    return cluster ? warn('no replica: if this server is lost, so are its slots', `${add}.`) : ok('none');
  const replication = `${following.length} of ${all.length} in sync`;
  if (following.length === all.length) return ok(replication);
  return warn(
    replication,
    'Look at INFO replication on the primary and the log of the replica that lags, and at the network between the two.',
  );
}
