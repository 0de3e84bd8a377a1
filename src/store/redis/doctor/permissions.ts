/**
 * Whether the user may run the store's commands. Redis itself answers that (`redis.acl_check_cmd`, as ACL DRYRUN does,
 * but for the current user and with no permission beyond EVAL) and runs none of the commands.
 */
import { fail, ok, warn } from '../../doctor/check.ts';
import type { Finding } from '../../doctor/check.ts';
import { Roots, usualPrefix } from '../keys.ts';
import { textOfReply, listOfReply } from '../reply.ts';
import type { RedisReply } from '../reply.ts';
import type { Scripts } from '../scripts.ts';
import type { Node } from './node.ts';
import { messageOfThrown } from '../../../base/thrown.ts';

const roots = new Roots(usualPrefix);
roots.name('INSTALLATION');
const key = `${roots.registry}:active`;

/** The commands sent outside the steps, each with typical arguments. */
const direct = (cluster: boolean): string[][] => [
  ['EVAL', 'return 1', '1', key],
  ['EVALSHA', '0', '1', key],
  ...['DEL', 'GET', 'HMGET', 'HSCAN', 'LRANGE', 'SET', 'SMEMBERS', 'SREM', 'ZRANGE'].map((command) => [command, key]),
  ...(['notices', 'watching', 'feed'] as const)
    .map((name) => roots.channel(name))
    .flatMap((channel) => [
      ['SUBSCRIBE', channel],
      ['UNSUBSCRIBE', channel],
      ['PUBLISH', channel, ''],
    ]),
  ['SCAN', '0'],
  ['PING'],
  ['WAIT', '1', '1'],
  ['CONFIG', 'GET', 'appendonly'],
  ...(cluster
    ? [
        ['CLUSTER', 'SLOTS'],
        ['CLUSTER', 'NODES'],
        ['CLUSTER', 'COUNTKEYSINSLOT', '0'],
      ]
    : []),
];

const withoutKey: Readonly<Record<string, readonly string[]>> = { PUBLISH: [roots.channel('notices'), ''], TIME: [] };

/** The commands that the steps call, parsed from the steps' sources. */
function commandsIn(scripts: Scripts): string[][] {
  const names = Object.values(scripts).flatMap(({ source }) =>
    [...source.matchAll(/redis\.call\('(\w+)'/g)].map(([, name]) => name!),
  );
  return [...new Set(names)].map((name) => [name, ...(withoutKey[name] ?? [key])]);
}

const ask = `
if not redis.acl_check_cmd then return false end
local refused = {}
for _, words in ipairs(cjson.decode(ARGV[1])) do
  local known, may = pcall(redis.acl_check_cmd, unpack(words))
  if not (known and may) then refused[#refused + 1] = table.concat({ words[1], words[2] }, ' ') end
end
return refused`;

/** A command's name as ACL SETUSER spells it. */
const named = ([command = '', second = '']: readonly string[]): string =>
  ['CONFIG', 'CLUSTER'].includes(command) ? `${command}|${second}`.toLowerCase() : command.toLowerCase();

export async function permissions(node: Node, scripts: Scripts, cluster: boolean): Promise<Finding> {
  const { user } = node;
  const setUser = (commands: readonly string[]): string =>
    `redis-cli ACL SETUSER ${user} ~${usualPrefix}* '&${usualPrefix}*' ${commands.map((command) => `+${command}`).join(' ')}, then ACL SAVE (or CONFIG REWRITE).`;
  const wanted = [...direct(cluster), ...commandsIn(scripts)];
  let answer: RedisReply;
  try {
    answer = await node.ask('EVAL', ask, '0', JSON.stringify(wanted));
  } catch (error) {
    return fail(`The user may not run scripts: ${messageOfThrown(error)}`, setUser([...new Set(wanted.map(named))]));
  }
  if (answer === null)
    return warn(
      'Redis before 7.0 cannot report the permissions of its user.',
      `If it has ACLs: ${setUser([...new Set(wanted.map(named))])}`,
    );
  const refused = [...new Set(listOfReply(answer).map((words) => named(textOfReply(words).split(' '))))];
  if (refused.length === 0) return ok(`${user} may do all that is needed`);
  return fail(
    `${user} may not do ${refused.join(', ')} (or not with keys of ${usualPrefix}* and its channels)`,
    setUser(refused),
  );
}
