/**
 * What is wrong with a Redis, or a Redis Cluster, as a store. Nothing is written to it but the scripts, which are loaded
 * to see that they compile.
 */
import type { Clock } from '../../clock.ts';
import { check, fail, ok, warn, worstOf } from '../../doctor/check.ts';
import type { Check, Finding } from '../../doctor/check.ts';
import type { Ids } from '../../ids.ts';
import type { Records } from '../../doctor/records.ts';
import { RedisCatalog } from './catalog.ts';
import { clusterAddress, isCluster } from './connection.ts';
import { clusterState, membersOf, replicasOf } from './doctor/cluster.ts';
import type { Member } from './doctor/cluster.ts';
import { Node } from './doctor/node.ts';
import type { Timing } from './doctor/node.ts';
import { permissions } from './doctor/permissions.ts';
import * as server from './doctor/server.ts';
import { troubleOf } from './doctor/trouble.ts';
import { Roots, usualPrefix } from './keys.ts';
import { Link } from './link.ts';
import { Registry } from './registry.ts';
import { loadScripts } from './scripts.ts';
import { RedisSessions } from './sessions.ts';

export interface RedisExamination {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly allowVolatile: boolean;
  readonly replicated: boolean;
  /** Looks at what is stored, once the rest allows it. */
  readonly records: (records: Records) => Promise<Check[]>;
}

export async function examineRedis(url: string, examination: RedisExamination): Promise<Check[]> {
  const found = await reach(url, examination.clock);
  try {
    const checks = [...found.checks];
    if (found.nodes.length > 0) checks.push(...(await examineNodes(url, found.nodes, examination)));
    if (checks.some(({ id, status }) => status === 'fail' && preventing.has(id))) return checks;
    return [...checks, ...(await withRecords(url, examination))];
  } finally {
    for (const node of found.nodes) node.close();
  }
}

/** What keeps the store from being read at all. */
const preventing = new Set(['reachable', 'kind', 'loading', 'version', 'cluster', 'permissions', 'scripts']);

interface Reached {
  readonly checks: Check[];
  readonly nodes: Node[];
}

interface Way {
  readonly url: (address: string) => string;
  readonly secure: boolean;
  readonly named: boolean;
}

function reach(url: string, clock: Clock): Promise<Reached> {
  if (isCluster(url)) return reachCluster(url, clock);
  const { host, protocol, username, password } = new URL(url);
  const address = /:\d+$/.test(host) ? host : `${host}:6379`;
  return reachOne(address, { url: () => url, secure: protocol === 'rediss:', named: username !== '' || password !== '' }, clock);
}

async function reachOne(address: string, way: Way, clock: Clock): Promise<Reached> {
  try {
    const node = await Node.open(way.url(address), address, clock);
    return { checks: [check('reachable', ok(`${address} answers${way.named ? ' and takes the password' : ''}`))], nodes: [node] };
  } catch (error) {
    return { checks: [check('reachable', troubleOf(error, { address, ...way }))], nodes: [] };
  }
}

/** The first of the addresses given that answers tells of all members; each is then asked by itself. */
async function reachCluster(url: string, clock: Clock): Promise<Reached> {
  const { secure, user, hosts } = clusterAddress(url);
  const way = { url: (address: string) => `redis${secure}://${user === undefined ? '' : `${user}@`}${address}`, secure: secure === 's', named: user !== undefined };
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
    // No member of a cluster: `kind` says so.
    return members === null ? { checks, nodes } : reachMembers(seed, members, way, clock);
  }
  return { checks: [check('reachable', worstOf(troubles.map((trouble, index) => ({ place: hosts[index]!, finding: trouble }))))], nodes: [] };
}

async function reachMembers(seed: Node, members: readonly Member[], way: Way, clock: Clock): Promise<Reached> {
  const nodes = [seed];
  const places: { place: string; finding: Finding }[] = [];
  const others = members.filter(({ address }) => address !== seed.address);
  for (const [index, { checks, nodes: reached }] of (await Promise.all(others.map(({ address }) => reachOne(address, way, clock)))).entries()) {
    const { address, holds, failed } = others[index]!;
    nodes.push(...reached);
    const [{ status, found, advice = '' }] = checks as [Check];
    if (status === 'ok') continue;
    // A primary that the others have given up, or a replica: the cluster may do without it, and `cluster` and `replicas` say whether it does.
    places.push({ place: address, finding: (holds && !failed ? fail : warn)(found, advice) });
  }
  const finding = places.length > 0 ? worstOf(places) : ok(`all ${members.length} members answer${way.named ? ' and take the password' : ''}`);
  return { checks: [check('reachable', finding)], nodes };
}

async function examineNodes(url: string, all: readonly Node[], { allowVolatile, replicated }: RedisExamination): Promise<Check[]> {
  const scripts = loadScripts();
  const cluster = isCluster(url);
  const each = (id: string, nodes: readonly Node[], rule: (node: Node) => Finding | Promise<Finding>): Promise<Check> => overNodes(id, nodes, rule, cluster);
  const deaf = await each('info', all, (node) => node.learn().then(() => ok('told'), (error: Error) => untold(error)));
  if (deaf.status !== 'ok') return [deaf];
  const kind = await each('kind', all, (node) => kindOf(node, cluster));
  const first = [kind, await versions(all, cluster), await each('loading', all, server.loading)];
  if (first.some(({ status }) => status === 'fail')) return first;
  const primaries = all.filter((node) => node.fact('role') === 'master');
  const timings = await Promise.all(all.map((node) => node.timing()));
  const greatest = (measure: (timing: Timing) => number): Timing => timings.reduce((most, each) => (measure(each) > measure(most) ? each : most));
  return [
    ...first,
    await each('append-only', all, (node) => server.appendOnlyFile(node, allowVolatile)),
    await each('disk-writes', all, server.lastWrites),
    await each('eviction', all, server.eviction),
    await each('memory', all, server.memory),
    ...(cluster ? [check('cluster', await guarded(() => clusterState(all[0]!)))] : []),
    await each('replicas', primaries, (node) => replicasOf(node, { replicated, cluster })),
    check('clock', server.clockOf(greatest(({ aheadMs }) => Math.abs(aheadMs)))),
    check('round-trip', server.roundTrip(greatest(({ roundTripMs }) => roundTripMs))),
    await each('permissions', primaries, (node) => permissions(node, scripts, cluster)),
    await each('scripts', primaries, (node) => server.scriptsLoad(node, scripts)),
  ];
}

async function overNodes(id: string, nodes: readonly Node[], rule: (node: Node) => Finding | Promise<Finding>, cluster: boolean): Promise<Check> {
  const findings = await Promise.all(nodes.map((node) => guarded(() => rule(node))));
  if (!cluster && findings[0] !== undefined) return check(id, findings[0]);
  return check(id, worstOf(nodes.map(({ address }, index) => ({ place: address, finding: findings[index]! }))));
}

/** A server that went away or refuses meanwhile is a finding too. */
async function guarded(rule: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await rule();
  } catch (error) {
    return fail(`not told: ${(error as Error).message || 'no answer in time'}`, 'Look into the log of Redis, and run this again.');
  }
}

const untold = (error: Error): Finding =>
  error.message.includes('NOPERM')
    ? warn('The user may not ask INFO, so this Redis was not examined.', 'ACL SETUSER USER +info, or run this as a user that may.')
    : fail(`Redis does not tell about itself: ${error.message || 'no answer in time'}`, 'Look into the log of Redis, and run this again.');

function kindOf(node: Node, cluster: boolean): Finding {
  const [mode, role] = [node.fact('redis_mode'), node.fact('role')];
  if (mode === 'sentinel') return fail('This is a Sentinel, which stores nothing.', 'Give the address of the primary that it watches: SENTINEL GET-MASTER-ADDR-BY-NAME.');
  if (cluster && mode !== 'cluster') return fail('This Redis is no cluster.', 'Write redis: instead of redis-cluster: in PARLEY_STORE.');
  if (!cluster && mode === 'cluster') return fail('This Redis is a member of a cluster.', 'Write redis-cluster: instead of redis: in PARLEY_STORE.');
  if (!cluster && role === 'slave') {
    return fail(`This Redis is a replica and takes no writes.`, `Give the address of its primary in PARLEY_STORE: ${node.fact('master_host')}:${node.fact('master_port')}.`);
  }
  return ok(cluster ? 'a cluster' : 'a single Redis, primary');
}

/** Of a cluster, that it is the same one on all. */
async function versions(nodes: readonly Node[], cluster: boolean): Promise<Check> {
  const found = await overNodes('version', nodes, server.version, cluster);
  const different = new Set(nodes.map((node) => node.fact('redis_version')));
  if (found.status !== 'ok' || different.size === 1) return found;
  return check('version', warn(`Redis ${[...different].sort().join(', ')} side by side`, 'Bring all members to the newest of them.'));
}

/** Reads as the store reads, over a link of its own. */
async function withRecords(url: string, { clock, ids, records }: RedisExamination): Promise<Check[]> {
  const link = new Link(url, clock, loadScripts());
  const roots = new Roots(usualPrefix);
  try {
    await link.open();
    const catalog = new RedisCatalog(link, roots, ids);
    const sessions = new RedisSessions(link, link.run.bind(link), roots, new Registry(link, roots, clock), ids);
    return await records({ catalog, sessions: (...query) => sessions.list(...query) });
  } catch (error) {
    return [check('records', fail(`What is stored cannot be read: ${(error as Error).message}`, 'Look into the log of Redis, and run this again.'))];
  } finally {
    await link.close();
  }
}
