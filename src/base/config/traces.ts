/** The settings of traces, which are OpenTelemetry's own variables (contract 16). */
import { limits } from '../limits.ts';
import { SettingError } from './setting-error.ts';

export interface TraceSettings {
  /** The variable that turns traces on. */
  readonly variable: string;
  /** Whether requests to tools and webhooks name the span that they belong to. */
  readonly propagates: boolean;
  /** The number of spans that may wait for the collector. */
  readonly queueMax: number;
}

const endpoints = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;
const protocols = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const;
const switches = ['OTEL_SDK_DISABLED', 'OTEL_TRACES_EXPORTER'] as const;

/** The variables that can be refused, and those that turn traces off. */
export const traceVariables: readonly string[] = [...endpoints, ...protocols, ...switches];

/**
 * Reads the settings; null while no endpoint turns traces on. OpenTelemetry's packages read the other variables
 * themselves, and fall back to a default where a value is wrong; with a wrong endpoint or protocol they would send
 * nothing.
 */
export function traceSettings(environment: Readonly<Record<string, string | undefined>>): TraceSettings | null {
  const read = (name: string): string => environment[name]?.trim() ?? '';
  const variable = endpoints.find((name) => read(name));
  const exporters = namesIn(read('OTEL_TRACES_EXPORTER') || 'otlp');
  if (variable === undefined || read('OTEL_SDK_DISABLED').toLowerCase() === 'true' || !exporters.includes('otlp'))
    return null;
  const endpoint = read(variable);
  if (!/^https?:\/\/[^/?#]/i.test(endpoint) || !URL.canParse(endpoint))
    throw new SettingError(
      `${variable} must be http://HOST[:PORT] or https://…, not "${endpoint.replace(/^([^/]*\/\/).*@/, '$1…@')}".`,
    );
  for (const name of protocols) {
    const protocol = read(name);
    if (protocol !== '' && protocol !== 'http/protobuf')
      throw new SettingError(`${name} must be http/protobuf, which is all that parley sends, not "${protocol}".`);
    // The variable of traces wins.
    if (protocol !== '') break;
  }
  const queueMax = Number(read('OTEL_BSP_MAX_QUEUE_SIZE'));
  return {
    variable,
    propagates: namesIn(read('OTEL_PROPAGATORS') || 'tracecontext').includes('tracecontext'),
    queueMax: Number.isSafeInteger(queueMax) && queueMax > 0 ? queueMax : limits.tracesQueueMax,
  };
}

const namesIn = (list: string): string[] => list.split(',').map((name) => name.trim());
