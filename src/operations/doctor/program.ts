/** Checks the program itself: the Node that runs it, its settings, the engine that it serves with. */
import about from '../../../package.json' with { type: 'json' };
import { readConfig, SettingError, settings, type Config } from '../../base/config.ts';
import { oidcVariables } from '../../base/config/oidc.ts';
import { traceVariables } from '../../base/config/traces.ts';
import { loadEngine } from '../../http/edge/uws/engine.ts';
import type { Ids } from '../../base/ids.ts';
import { readSecrets } from '../secrets.ts';
import { checkTracePackages } from '../tracing.ts';
import { check, fail, ok, warn } from '../../store/doctor/check.ts';
import type { Check, Finding } from '../../store/doctor/check.ts';
import { messageOfThrown } from '../../base/thrown.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export function nodeVersion(running = process.versions.node): Finding {
  const wanted = about.engines.node.replace('>=', '');
  const older = running.localeCompare(wanted, 'en', { numeric: true }) < 0;
  return older ? fail(`Node ${running}`, `parley needs Node ${wanted} or later: install it.`) : ok(`Node ${running}`);
}

/**
 * The settings that cannot be used, each with its problem; and the settings without those. Null if the store's setting
 * is among them.
 */
export function settingsOf(
  environment: Environment,
  ids: Ids,
): { readonly checks: Check[]; readonly config: Config | null } {
  const wrong = new Map<string, Check>();
  const store = environment['PARLEY_STORE'];
  const tried = (values: Environment, variables: readonly string[]): void => {
    const problem = sentence(() => readConfig(values));
    if (problem === null) return;
    const named = variables.find((variable) => problem.startsWith(`${variable} `)) ?? variables[0]!;
    const place = traceVariables.includes(named) ? 'docs/settings.md has its values' : 'parley serve --help';
    const found = check('settings', fail(problem, `Correct ${named}: ${place}.`));
    for (const variable of variables) wrong.set(variable, found);
  };
  tried({ PARLEY_STORE: store }, ['PARLEY_STORE']);
  const usable = wrong.size === 0;
  // The values that a setting may have can depend on the store and on the port, which stands before the settings that
  // depend on it.
  for (const { variable } of settings) {
    const before = { ...(usable && { PARLEY_STORE: store }), ...(!wrong.has('PORT') && { PORT: environment['PORT'] }) };
    if (variable === 'PARLEY_STORE' || isOfOidc(variable)) continue;
    tried({ ...before, [variable]: environment[variable] }, [variable]);
  }
  tried(
    pick(
      environment,
      [...oidcVariables, 'PARLEY_ALLOW_PRIVATE_PROVIDERS'].filter((variable) => !wrong.has(variable)),
    ),
    oidcVariables,
  );
  tried(pick(environment, traceVariables), traceVariables);
  const config = usable
    ? readConfig(Object.fromEntries(Object.entries(environment).filter(([variable]) => !wrong.has(variable))))
    : null;
  const checks = [
    ...new Set(wrong.values()),
    ...(config === null
      ? []
      : missingSettings(config, ids)
          .filter((one) => !wrong.has(one.variable))
          .map((one) => one.check)),
  ];
  return { checks: checks.length > 0 ? checks : [check('settings', ok('valid'))], config };
}

/** Whether a setting is valid only together with others. */
const isOfOidc = (variable: string): boolean => oidcVariables.some((one) => one === variable);

const pick = (environment: Environment, variables: readonly string[]): Environment =>
  Object.fromEntries(variables.map((variable) => [variable, environment[variable]]));

/** The settings that all processes on one Redis must share. */
function missingSettings(config: Config, ids: Ids): { readonly variable: string; readonly check: Check }[] {
  if (config.store.kind !== 'redis') return [];
  const cases = [
    { variable: 'PARLEY_SECRET', given: { ...config, operatorToken: 'given' } },
    { variable: 'PARLEY_OPERATOR_TOKEN', given: { ...config, secret: 'given' } },
  ];
  return cases.flatMap(({ variable, given }) => {
    const problem = sentence(() => readSecrets(given, ids));
    return problem === null
      ? []
      : [
          {
            variable,
            check: check(
              'settings',
              fail(problem, `Make one once (openssl rand -hex 32) and set ${variable} to it everywhere.`),
            ),
          },
        ];
  });
}

function sentence(run: () => unknown): string | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
}

/** Whether traces go out: to the collector that a variable of OpenTelemetry's names. */
export function traces(config: Config): Finding {
  const problem = sentence(() => checkTracePackages(config));
  return problem === null
    ? ok(`on: they go to the collector of ${config.traces!.variable}`)
    : fail(problem, 'The server does not start until then.');
}

/** Platforms on which a build of uWebSockets.js loads. */
const engineHome =
  'Linux on x64, with glibc 2.27 and Node 20 or 22 or with glibc 2.38 and Node 24 or 26, with the packages installed by that Node (npm ci)';

/** The engine that the server would choose. */
export async function engine({ edge }: Config, load: () => Promise<unknown> = loadEngine): Promise<Finding> {
  if (edge === 'node') return ok('node:http, as PARLEY_EDGE says');
  try {
    await load();
    return ok(
      'uWebSockets.js loads (for clients that pipeline, or send chunk extensions, trailers or absolute targets, without a proxy between: PARLEY_EDGE=node)',
    );
  } catch (error) {
    const problem = messageOfThrown(error);
    if (edge === 'uws') return fail(problem, `Unset PARLEY_EDGE, so that node:http serves, or run on ${engineHome}.`);
    return warn(
      `${problem} node:http serves instead.`,
      `All works; a streamed event costs about half as much processor time again. Run on ${engineHome} to have uWebSockets.js.`,
    );
  }
}
