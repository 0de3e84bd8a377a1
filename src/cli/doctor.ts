/** `parley doctor` */
import type { Command } from 'commander';
import { WheelClock } from '../clock.ts';
import type { Diagnosis } from '../doctor.ts';
import { randomIds } from '../ids.ts';
import { oneLine, print } from './output.ts';

interface DoctorOptions {
  readonly store?: string;
  readonly json?: boolean;
}

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look the installation over and say what to do')
    .option('--store <url>', 'the store to look at (PARLEY_STORE, default: lmdb:./data)')
    .option('--json', 'print {ok, store, checks: [{id, status: ok|warn|fail, found, advice?}]}')
    .addHelpText('after', examples)
    .action(doctor);
}

const examples = `
It reads the settings that parley serve would read, and changes nothing. Exit code 0: nothing is wrong (warnings allowed); 1: something is.

Examples:
  parley doctor
  parley doctor --store redis://127.0.0.1:6379
  PARLEY_DURABILITY=replicated parley doctor --store redis-cluster://10.0.0.1:7000,10.0.0.2:7000 --json`;

async function doctor({ store, json }: DoctorOptions): Promise<void> {
  const { examine } = await import('../doctor.ts');
  const clock = new WheelClock();
  const environment = store === undefined ? process.env : { ...process.env, PARLEY_STORE: store };
  try {
    const diagnosis = await examine(environment, { clock, ids: randomIds(clock) });
    print(json ? JSON.stringify(diagnosis) : report(diagnosis));
    if (!diagnosis.ok) process.exitCode = 1;
  } finally {
    clock.stop();
  }
}

/** A line for each check; under each check that is not `ok`, what to do. */
export function report({ checks, store }: Diagnosis): string {
  const widest = Math.max(...checks.map(({ id }) => id.length));
  const lines = checks.flatMap(({ id, status, found, advice }) => [
    `${status.padEnd(4)}  ${id.padEnd(widest)}  ${oneLine(found)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(widest + 8)}${oneLine(advice)}`]),
  ]);
  const counted = (status: string): number => checks.filter((one) => one.status === status).length;
  const [failed, warned] = [counted('fail'), counted('warn')];
  const sum = failed === 0 && warned === 0 ? 'Nothing is wrong.' : `${failed} failed, ${warned} warned, ${counted('ok')} are well.`;
  return [`store ${store ?? '(cannot be used)'}`, '', ...lines, '', sum].join('\n');
}
