/** Connects to a Redis, or to every member of a cluster. */
import type { Clock } from '../../../base/clock.ts';
import { check, fail, ok, warn, worstOf } from '../../doctor/check.ts';
import type { Check, Finding } from '../../doctor/check.ts';
import { isCluster } from '../connection.ts';
import { clusterAddress, memberUrl } from '../connection/cluster.ts';
import { membersOf } from './cluster.ts';
import type { ClusterNode } from './cluster.ts';
import { Node } from './node.ts';
import { isSlow, troubleOf } from './trouble.ts';

/** The servers that answer, connected, and the findings on the way. */
export interface Reached {
  readonly checks: Check[];
  readonly nodes: Node[];
}

interface Way {
  readonly url: (address: string) => string;
  readonly secure: boolean;
  /** Whether a user name or a password is given. */
  readonly named: boolean;
  readonly user: string;
}

export function reach(url: string, clock: Clock): Promise<Reached> {
  if (isCluster(url)) return reachCluster(url, clock);
  const { host, protocol, username, password } = new URL(url);
  const address = /:\d+$/.test(host) ? host : `${host}:6379`;
  return reachOne(
    address,
    {
      url: () => url,
      secure: protocol === 'rediss:',
      named: username !== '' || password !== '',
      user: nameOf(username),
    },
    clock,
  );
}

/** Redis's own name for a user that gives no name. */
const nameOf = (given: string): string => (given === '' ? 'default' : decodeURIComponent(given));

/** A machine that is busy for a moment is no fault: a server that is only slow gets a retry. */
const tries = 3;

async function reachOne(address: string, way: Way, clock: Clock): Promise<Reached> {
  for (let left = tries - 1; ; left--) {
    try {
      const node = await Node.open(way.url(address), { address, user: way.user }, clock);
      return {
        checks: [check('reachable', ok(`${address} answers${way.named ? ' and takes the password' : ''}`))],
        nodes: [node],
      };
    } catch (error) {
      if (left > 0 && isSlow(error)) continue;
      return { checks: [check('reachable', troubleOf(error, { address, ...way }))], nodes: [] };
    }
  }
}

/** The first given address that answers lists all members; each of them is then examined by itself. */
async function reachCluster(url: string, clock: Clock): Promise<Reached> {
  const { secure, user, hosts } = clusterAddress(url);
  const way = {
    url: (address: string) => memberUrl(url, address),
    secure: secure === 's',
    named: user !== undefined,
    user: nameOf(user?.split(':')[0] ?? ''),
  };
  const troubles: Check[] = [];
  for (const host of hosts) {
    const address = /:\d+$/.test(host) ? host : `${host}:6379`;
    const { checks, nodes } = await reachOne(address, way, clock);
    const [seed] = nodes;
    if (seed === undefined) {
      troubles.push(...checks);
      continue;
    }
    const members = await membersOf(seed).catch(() => null);
    // The server is no cluster member; the check `kind` reports that.
    return members === null ? { checks, nodes } : reachMembers(seed, members, way, clock);
  }
  return {
    checks: [check('reachable', worstOf(troubles.map((trouble) => ({ place: '', finding: trouble }))))],
    nodes: [],
  };
}

async function reachMembers(seed: Node, members: readonly ClusterNode[], way: Way, clock: Clock): Promise<Reached> {
  const nodes = [seed];
  const places: { place: string; finding: Finding }[] = [];
  const others = members.filter(({ address }) => address !== seed.address);
  for (const [index, { checks, nodes: reached }] of (
    await Promise.all(others.map(({ address }) => reachOne(address, way, clock)))
  ).entries()) {
    const { holds, failed } = others[index]!;
    nodes.push(...reached);
    const [{ status, found, advice = '' }] = checks as [Check];
    if (status === 'ok') continue;
    // A primary that the others consider dead, or a replica: the cluster may work without it, and the checks `cluster`
    // and `replicas` report whether it does.
    places.push({ place: '', finding: (holds && !failed ? fail : warn)(found, advice) });
  }
  const finding =
    places.length > 0
      ? worstOf(places)
      : ok(`all ${members.length} members answer${way.named ? ' and take the password' : ''}`);
  return { checks: [check('reachable', finding)], nodes };
}
