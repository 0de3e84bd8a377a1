/**
 * The one table of the scripts' arguments, and the helpers that they include: their heads name them, their bodies read
 * them, and no others.
 */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { helpersOf, luaFile } from '../../src/store/redis/includes.ts';
import { loadScripts } from '../../src/store/redis/scripts.ts';
import {
  argumentLines,
  argumentsOf,
  gatheredLines,
  gatheredSteps,
  constantNames,
  luaName,
  steps,
  type ScriptName,
} from '../../src/store/redis/steps.ts';

const folder = new URL('../../src/store/redis/steps/', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(`${path}.lua`, folder), 'utf8');
const filesIn = (path: string): string[] =>
  readdirSync(new URL(path, folder))
    .filter((name) => name.endsWith('.lua'))
    .map((name) => name.slice(0, -'.lua'.length));
const names = Object.keys(steps) as ScriptName[];
/** Each helper's text by the name of its file. */
const helpers = new Map(filesIn('includes/').map((name) => [name, textOf(`includes/${name}`)]));

/** The comment lines that a file begins with, one line for each sentence that names something. */
const headOf = (text: string): string[] =>
  /^(?:--.*\n)*/
    .exec(text)![0]
    .replace(/\n-- {3,}/g, ' ')
    .split('\n')
    .filter(Boolean);

/** The words that a head gives after a name. */
const said = (head: readonly string[], name: string): string | undefined =>
  head.find((line) => line.startsWith(`-- ${name}: `))?.slice(`-- ${name}: `.length);

/** A script without its comments and with all of its texts empty. */
const bare = (text: string): string => text.replace(/--.*/g, '').replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "''");

const words = /(?<![\w.:])[A-Za-z_]\w*/g;
const keywords = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const provided = new Set('redis cjson cmsgpack math string table tonumber unpack ipairs pairs KEYS ARGV'.split(' '));

/** The names that a script makes: its locals, its functions with their parameters, its loops' variables. */
function madeIn(text: string): Set<string> {
  const made = new Set<string>();
  const add = (list: string): void => (list.match(/\w+/g) ?? []).forEach((name) => made.add(name));
  for (const [, list] of text.matchAll(/\blocal (?!function)([\w, ]+)/g)) add(list!);
  for (const [, name, list] of text.matchAll(/\bfunction (\w*)\(([\w, .]*)\)/g)) add(`${name} ${list}`);
  for (const [, list] of text.matchAll(/\bfor ([\w, ]+?)(?: in\b| =)/g)) add(list!);
  return made;
}

/** Names that a script reads but never assigns. A field of a table literal does not count. */
function missingIn(text: string, given: ReadonlySet<string>): string[] {
  const made = madeIn(text);
  const read = text.replace(/(?<=[{,] *)\w+(?= = )/g, '').match(words) ?? [];
  return [...new Set(read)].filter(
    (name) => !made.has(name) && !keywords.has(name) && !provided.has(name) && !given.has(name),
  );
}

/** The names that every script has. */
const common = [...constantNames, 'root'];

/** A helper's function, by the name of its file. */
const functionOf = (name: string): string => name.replaceAll('-', '_');

/** The names in a text that a call follows. */
const calledIn = (body: string): Set<string> => new Set(body.match(/(?<![\w.:]|function )[A-Za-z_]\w*(?=\()/g));

/**
 * Returns the faults of the includes of a file, and of the names that it reads; `given`: those that it has from
 * elsewhere.
 */
function faultsOfNames(text: string, given: readonly string[] = []): string[] {
  const { includes } = luaFile(text);
  const body = bare(text);
  const called = calledIn(body);
  return [
    ...includes.filter((name, index) => includes.indexOf(name) !== index).map((name) => `it includes ${name} twice`),
    ...includes.filter((name) => !helpers.has(name)).map((name) => `there is no helper ${name}`),
    ...includes.filter((name) => !called.has(functionOf(name))).map((name) => `it does not call ${name}`),
    ...missingIn(body, new Set([...common, ...includes.map(functionOf), ...given])).map(
      (name) => `nothing gives it ${name}`,
    ),
  ];
}

/** Returns the faults of a helper's file. */
function faultsOfHelper(text: string, name: string): string[] {
  const made = [...bare(text).matchAll(/^local (?:function )?(.*?)(?: =.*|\(.*)?$/gm)].map(([, made]) => made!);
  const faults = made.length === 1 && made[0] === functionOf(name) ? [] : [`it makes ${made.join(', ')}`];
  return [...(/^--(?!-)/.test(text) ? [] : ['its head does not say what it does']), ...faults, ...faultsOfNames(text)];
}

/** Returns the faults of a step's file, for these arguments. */
function faultsOf(text: string, step: ScriptName, ofTable: readonly string[] = steps[step]): string[] {
  const head = headOf(text);
  const listed = ofTable.map((name) => (name.startsWith('...') ? `...${luaName(name.slice(3))}` : luaName(name)));
  const locals = listed.map((name) => (name.startsWith('...') ? `${name.slice(3)}_at` : name));
  const body = bare(text);
  const faults = ['KEYS', 'Answer']
    .filter((name) => said(head, name) === undefined)
    .map((name) => `its head does not name ${name}`);
  const argv = listed.length === 0 ? 'none.' : `${listed.join(', ')}.`;
  if (said(head, 'ARGV') !== argv) faults.push(`its head has ARGV: ${said(head, 'ARGV')}, the table ${argv}`);
  faults.push(
    ...locals
      .filter((name) => !new RegExp(`(?<![\\w.:])${name}\\b`).test(body))
      .map((name) => `it does not read ${name}`),
  );
  return [...faults, ...faultsOfNames(text, locals)];
}

t.test('each file is a step of the table, and each step has its file', async (t) => {
  t.same(filesIn('.').sort(), [...names].sort());
});

t.test('heads and bodies have the names of the table, all of them and no others', async (t) => {
  for (const name of names) t.same(faultsOf(textOf(name), name), [], name);
  const all = bare([...names.map(textOf), ...helpers.values()].join(''));
  t.same(
    common.filter((name) => !all.includes(name)),
    [],
    'every constant is read',
  );
  t.same(
    names.filter((name) => /^local [\w, ]+ = unpack\(ARGV/m.test(textOf(name))),
    [],
    'no file takes its arguments itself',
  );
});

t.test('a name that is missing or too many is found', async (t) => {
  const text = textOf('renew-turn');
  const [session, turn, epoch, owner, lease] = steps['renew-turn'];
  t.same(faultsOf(text, 'renew-turn', [session, turn, epoch, owner]), [
    'its head has ARGV: session, turn, epoch, owner, lease., the table session, turn, epoch, owner.',
    'nothing gives it lease',
  ]);
  t.same(
    faultsOf(text.replace('owner, lease.', 'owner, lease, extra.'), 'renew-turn', [
      session,
      turn,
      epoch,
      owner,
      lease,
      'extra',
    ]),
    ['it does not read extra'],
  );
  t.same(faultsOf(text.replace(/-- Answer.*\n/, ''), 'renew-turn'), ['its head does not name Answer']);
  t.same(
    faultsOf(text.replace('session, turn, epoch', 'turn, session, epoch'), 'renew-turn').length,
    1,
    'the order counts',
  );
  t.same(faultsOf(text.replace('is_held(flight', 'halt(flight'), 'renew-turn'), [
    'it does not call is-held',
    'nothing gives it halt',
  ]);
});

t.test('each helper is a file with one function, and says what it calls', async (t) => {
  for (const [name, text] of helpers) t.same(faultsOfHelper(text, name), [], name);
  const included = new Set([...names.map(textOf), ...helpers.values()].flatMap((text) => luaFile(text).includes));
  t.same(
    [...helpers.keys()].filter((name) => !included.has(name)),
    [],
    'each is included',
  );
});

t.test('a missing, unneeded or unknown include is reported', async (t) => {
  const text = helpers.get('recall')!;
  const faults = (sound: string, wrong: string): string[] => {
    t.ok(text.includes(sound), sound);
    return faultsOfHelper(text.replaceAll(sound, wrong), 'recall');
  };
  t.same(faults('--- @include "now"\n', ''), ['nothing gives it now']);
  t.same(faults('--- @include "now"\n', '--- @include "now"\n--- @include "now"\n'), ['it includes now twice']);
  t.same(faults('now()', '0'), ['it does not call now']);
  t.same(faults('--- @include "now"', '--- @include "then"'), [
    'there is no helper then',
    'it does not call then',
    'nothing gives it now',
  ]);
  t.same(faults('function recall', 'function reread'), ['it makes reread']);
  t.same(faults('local function', 'local last\n\nlocal function'), ['it makes last, recall']);
  t.same(faults('-- Reads', '--- Reads'), ['its head does not say what it does']);
});

t.test(
  'helpers come once each, after those that they call; a circle and a helper without a file are refused',
  async (t) => {
    const files: Readonly<Record<string, string>> = {
      top: '--- @include "left"\n--- @include "right"\n',
      left: '--- @include "base"\n',
      right: '--- @include "base"\n--- @include "left"\n',
      base: '-- Includes nothing.\n\nlocal function base()\n  -- Does nothing.\nend\n',
      circle: '--- @include "half"\n',
      half: '--- @include "circle"\n',
      self: '--- @include "self"\n',
      bare: '--- @include base\n',
    };
    const read = (name: string) => luaFile(files[name]!);
    const found = helpersOf(read('top'), read);
    t.same([...found.keys()], ['base', 'left', 'right']);
    t.equal(found.get('base')!.code, 'local function base()\nend', 'without its comments');
    t.throws(() => helpersOf(read('circle'), read), {
      message: 'The helpers include each other: half → circle → half.',
    });
    t.throws(() => helpersOf(read('self'), read), { message: 'The helpers include each other: self → self.' });
    t.throws(() => read('bare'), SyntaxError);
    t.throws(() => helpersOf(luaFile('--- @include "nothing"'), (name) => luaFile(textOf(`includes/${name}`))), {
      code: 'ENOENT',
    });
  },
);

t.test('arguments go in the order of the table, and the scripts have them under their names', async (t) => {
  const given = { lease: 5, owner: 'o', epoch: 1, turn: 't', session: 's' };
  t.same(argumentsOf('renew-turn', given), ['s', 't', 1, 'o', 5]);
  t.equal(argumentLines('renew-turn'), 'local session, turn, epoch, owner, lease = unpack(ARGV, 1, 5)\n');
  t.same(
    argumentsOf('take-budgets', {
      number: 3,
      count: 2,
      seen: 0,
      waited: 0,
      asked: ['requests', 60],
      lane: 'a/0',
      id: 'k',
    }),
    ['k', 'a/0', 3, 2, 0, 0, 'requests', 60],
  );
  t.equal(
    argumentLines('take-budgets'),
    'local id, lane, number, count, seen, waited = unpack(ARGV, 1, 6)\nlocal asked_at = 7\n',
  );
  t.equal(argumentLines('count-slots'), '');
  const scripts = loadScripts();
  t.same(
    names.filter((name) => scripts[name].source.startsWith(gatheredLines.first)),
    [...gatheredSteps],
    'and of each call where several are sent as one',
  );
  const { source } = scripts['create-record'];
  t.ok(source.startsWith('local BUDGET_UNIT = 60000\n'));
  t.match(
    source,
    /\nlocal kind, id, record, channel, workspace_id, record_id, alias, most, begin, move, wants, audit_id, audit = unpack\(ARGV, 1, 13\)\nlocal needed_at = 14\nif redis\.call\(/,
  );
});

t.test('a script has the helpers that it includes, and no others', async (t) => {
  const scripts = loadScripts();
  const functions = [...helpers.keys()].map(functionOf);
  const definedIn = (source: string): string[] =>
    [...source.matchAll(/^local function (\w+)/gm)].map(([, name]) => name!).filter((name) => functions.includes(name));
  for (const name of names) {
    const { source } = scripts[name];
    const called = calledIn(bare(source));
    t.same(definedIn(source).toSorted(), functions.filter((each) => called.has(each)).toSorted(), name);
    t.same(missingIn(bare(source), new Set()), [], `${name} has everything that it reads`);
  }
  t.same(
    definedIn(scripts['renew-turn'].source),
    ['at', 'is_held', 'int', 'is_full', 'name_slots', 'now', 'renew_lease'],
    'and those that these call, which come first',
  );
  t.notOk(
    names.some((name) => /^ *--/m.test(scripts[name].source)),
    'no script has comments',
  );
});
