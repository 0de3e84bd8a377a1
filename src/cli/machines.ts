/** `parley machines` */
import { Option, type Command } from 'commander';
import { UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { print } from './output.ts';

type Format = 'mermaid' | 'json';

interface MachinesOptions {
  readonly format: Format;
  readonly json?: boolean;
}

export function registerMachines(program: Command, io: Io): void {
  program
    .command('machines')
    .description('the state machines, as charts')
    .argument('[name]', 'one of them (default: all)')
    .addOption(
      new Option('--format <format>', 'a Mermaid diagram or JSON').choices(['mermaid', 'json']).default('mermaid'),
    )
    .option('--json', 'the same as --format json')
    .addHelpText('after', examples)
    .action((name: string | undefined, options: MachinesOptions) => machines(io, name, options));
}

const examples = `
Examples:
  parley machines session
  parley machines --format json`;

async function machines(io: Io, name: string | undefined, options: MachinesOptions): Promise<void> {
  const { chart, machineNames } = await import('../http/charts.ts');
  const format: Format = options.json ? 'json' : options.format;
  if (name !== undefined) {
    const machine = machineNames.find((one) => one === name);
    if (machine === undefined)
      throw new UsageFailure(`There is no machine "${name}"; there are ${machineNames.join(', ')}.`);
    print(io, chart(machine, format));
    return;
  }
  const charts = machineNames.map((one) => ({ name: one, text: chart(one, format).trimEnd() }));
  if (format === 'json') print(io, `{${charts.map((one) => `${JSON.stringify(one.name)}:${one.text}`).join(',\n')}}`);
  else print(io, charts.map((one) => `%% ${one.name}\n${one.text}`).join('\n\n'));
}
