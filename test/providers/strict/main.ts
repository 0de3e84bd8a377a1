/** `npm run providers`: the outcome of conversations with tools at each strict provider, as a table (promise R4). */
import { Option } from 'commander';
import { developmentCommand } from '../../../bench/harness/development-command.ts';
import { Progress } from '../../../bench/harness/progress.ts';
import type { Owner } from '../../folders.ts';
import { strictNames } from './names.mjs';

const { provider, silent } = developmentCommand(
  'npm run providers --',
  'Has conversations with tools at providers that refuse as the real ones do, and prints the outcome of each. Ends with 1 if one goes wrong.',
  `
  npm run providers                              every provider
  npm run providers -- --provider Mistral        one of them
  npm run providers -- --silent                  every provider, none of which gives a reason for a refusal`,
)
  .addOption(new Option('--provider <name>', 'the provider').choices([...strictNames, 'all']).default('all'))
  .option('--silent', 'they refuse without a reason', false)
  .parse()
  .opts<{ provider: (typeof strictNames)[number] | 'all'; silent: boolean }>();
// Imported once they are wanted, so that help comes at once.
const { openHouse } = await import('../../api/house.ts');
const { caseNames, rowOf } = await import('../../api/strict-table.ts');

const wanted = provider === 'all' ? strictNames : [provider];
const firstWidth = Math.max(...strictNames.map(({ length }) => length));
const line = (name: string, cells: readonly string[]): void =>
  void process.stdout.write(
    `${[name.padEnd(firstWidth), ...cells.map((cell, index) => cell.padEnd(caseNames[index]?.length ?? 0))].join('  ').trimEnd()}\n`,
  );

const undo: (() => Promise<unknown>)[] = [];
const owner: Owner = { teardown: (run) => undo.unshift(run) };
const progress = new Progress(1);
const failures: string[] = [];
try {
  const house = await openHouse(owner, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'silent' } });
  line('provider', [...caseNames, 'refused']);
  for (const [index, name] of wanted.entries()) {
    progress.tell(index, wanted.length, name);
    const { outcomes, refused } = await rowOf(owner, house, name, { isSilent: silent });
    progress.end();
    line(name, [...outcomes.map((outcome) => (outcome === null ? 'ok' : 'FAILED')), String(refused)]);
    failures.push(
      ...outcomes.flatMap((outcome, at) => (outcome === null ? [] : [`${name}, ${caseNames[at]!}: ${outcome}`])),
    );
  }
  const cases = wanted.length * caseNames.length;
  process.stdout.write(
    `${cases - failures.length} of ${cases} conversations go well\n${failures.map((failure) => `\n${failure}\n`).join('')}`,
  );
} finally {
  for (const run of undo) await run();
}
process.exitCode = failures.length === 0 ? 0 : 1;
