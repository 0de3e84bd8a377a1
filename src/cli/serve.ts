/** `parley serve` */
import { Option, type Command } from 'commander';
import { readConfig, SettingError, settings, type Setting } from '../base/config.ts';
import { checkVoiceFolder } from '../providers/voice-folder.ts';
import { checkTracePackages } from '../operations/tracing.ts';
import { CommandFailure } from './exit.ts';
import type { Io } from './io.ts';

/** The flags given, by commander's names; true for one without its value. */
export type Flags = Readonly<Record<string, string | true>>;

export function registerServe(program: Command, io: Io): void {
  const serve = program.command('serve').description('run the server');
  for (const setting of settings) serve.addOption(flagOption(setting));
  serve.addHelpText('after', examples);
  const { outputError } = serve.configureOutput();
  serve.configureOutput({ outputError: (text, write) => outputError!(withVariable(text), write) });
  serve.action((options: Flags) => run(io, options));
}

const examples = `
A flag wins over its variable. Keep secrets in the environment: flags can be seen in the list of processes.

Examples:
  parley serve
  parley serve --port 3000 --store lmdb:/var/lib/parley
  PORT=3000 PARLEY_LOG=warn parley serve
  parley serve --store memory: --synthetic
  parley serve --store redis://127.0.0.1:6379 --processes 4`;

/** A setting that is wrong is named by its variable as well. */
const withVariable = (text: string): string =>
  text.replace(/option '(--[\w-]+)(?![\w-])[^']*'/, (option, flag: string) => {
    const setting = settings.find((one) => one.flag === flag);
    return setting === undefined ? option : `${option} (${setting.variable})`;
  });

/** A setting of 0 or 1 may be given without its value. */
export function flagOption(setting: Setting): Option {
  const fallback = setting.fallback === '' ? '' : `, default: ${setting.fallback}`;
  const description = `${setting.description} (${setting.variable}${fallback})`;
  if (setting.value !== '0|1') return new Option(`${setting.flag} <${setting.value}>`, description);
  return new Option(`${setting.flag} [${setting.value}]`, description);
}

/** The environment with the flags laid over it. A flag without its value is 1. */
export function withFlags(
  options: Flags,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const entries = settings.flatMap((setting) => {
    const value = options[flagOption(setting).attributeName()];
    return value === undefined ? [] : [[setting.variable, value === true ? '1' : value]];
  });
  return { ...environment, ...Object.fromEntries(entries) };
}

async function run(io: Io, options: Flags): Promise<void> {
  const config = readConfig(withFlags(options, io.env));
  try {
    // Each of several processes comes this way too, as a worker.
    const isWorker = config.processes > 1 && !(await import('node:cluster')).default.isPrimary;
    // A worker that replaces another serves on where the folder has disappeared meanwhile.
    if (!isWorker) {
      checkVoiceFolder(config.voiceFolder);
      checkTracePackages(config);
    }
    if (config.processes > 1 && !isWorker)
      await (
        await import('../operations/supervisor.ts')
      ).supervise(config, (await import('../operations/edges.ts')).openManagementPort);
    else await (await import('../main.ts')).serve(config);
  } catch (error) {
    throw startFailure(error, config);
  }
}

/** Returns a system error about an address as a wrong setting, in words. Any other error keeps its message. */
export function startFailure(error: unknown, { host, port }: { readonly host: string; readonly port: number }): Error {
  if (error instanceof SettingError) return error;
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const listening = syscall === 'listen' || syscall === 'bind';
  if (code === 'EADDRINUSE')
    return new SettingError(`PORT is ${port}, which is in use on ${host}. Choose another with --port or PORT.`);
  if (code === 'EACCES' && listening)
    return new SettingError(`PORT is ${port}, but this user may not listen on it. Choose another with --port or PORT.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new SettingError(`HOST must be an address of this machine, not "${host}".`);
  return new CommandFailure(message || String(error));
}
