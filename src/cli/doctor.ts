/** `parley doctor` */
import type { Command } from 'commander';
import { WheelClock } from '../base/clock.ts';
import type { Diagnosis } from '../operations/doctor.ts';
import { randomIds } from '../base/ids.ts';
import type { Io } from './io.ts';
import { oneLine, print } from './output.ts';

interface DoctorOptions {
  readonly store?: string;
  readonly url?: string;
  readonly json?: boolean;
}

export function registerDoctor(program: Command, io: Io): void {
  program
    .command('doctor')
    .description('check the installation and print advice')
    .option('--store <url>', 'the store to check (PARLEY_STORE, default: lmdb:./data)')
    .option('--url <url>', 'the public address of a running server, through its proxy, as https://parley.example.com')
    .option('--json', 'print {ok, store, checks: [{id, status: ok|warn|fail, found, advice?}]}')
    .addHelpText('after', examples)
    .action((options: DoctorOptions) => doctor(io, options));
}

const examples = `
It reads the settings that parley serve would read, and changes nothing. Exit code 0: no check failed (warnings allowed); 1: a check failed.

Examples:
  parley doctor
  parley doctor --store redis://127.0.0.1:6379
  parley doctor --url https://parley.example.com
  PARLEY_DURABILITY=replicated parley doctor --store redis-cluster://10.0.0.1:7000,10.0.0.2:7000 --json`;

async function doctor(io: Io, { store, url, json }: DoctorOptions): Promise<void> {
  const { examine } = await import('../operations/doctor.ts');
  const clock = new WheelClock();
  const environment = store === undefined ? io.env : { ...io.env, PARLEY_STORE: store };
  try {
    const diagnosis = await examine(environment, { clock, ids: randomIds(clock), url });
    print(io, json ? JSON.stringify(diagnosis) : report(diagnosis));
    if (!diagnosis.ok) io.exitCode = 1;
  } finally {
    clock.stop();
  }
}

/** A line for each check; under each check that is not `ok`, its advice. */
export function report({ checks, store }: Diagnosis): string {
  const widest = Math.max(...checks.map(({ id }) => id.length));
  const lines = checks.flatMap(({ id, status, found, advice }) => [
    `${status.padEnd(4)}  ${id.padEnd(widest)}  ${oneLine(found)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(widest + 8)}${oneLine(advice)}`]),
  ]);
  const counted = (status: string): number => checks.filter((one) => one.status === status).length;
  const [failed, warned] = [counted('fail'), counted('warn')];
  const sum =
    failed === 0 && warned === 0 ? 'Nothing is wrong.' : `${failed} failed, ${warned} warned, ${counted('ok')} ok.`;
  return [`store ${store ?? '(cannot be used)'}`, '', ...lines, '', sum].join('\n');
}
