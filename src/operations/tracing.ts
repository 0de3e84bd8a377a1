/**
 * Traces of requests and turns (contract 16). They are on if the environment names a collector; OpenTelemetry's
 * packages, which are optional, are loaded only then.
 */
import { createRequire } from 'node:module';
import { SettingError, type Config } from '../base/config.ts';
import type { Tracer } from '../base/tracing.ts';
import type { TracerParts } from './tracing/otlp.ts';

const packages = [
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-base',
];

/** Throws a `SettingError` if traces are on and their packages are missing. */
export function checkTracePackages({ traces }: Pick<Config, 'traces'>): void {
  if (traces === null) return;
  const { resolve } = createRequire(import.meta.url);
  for (const name of packages) {
    try {
      resolve(name);
    } catch {
      throw new SettingError(
        `${traces.variable} needs the package ${name}, which is not installed: run npm ci without --omit=optional, or unset the variable.`,
      );
    }
  }
}

/** The tracer of this process; null while traces are off. */
export async function openTracer(
  { traces, publicUrl, host, port }: Pick<Config, 'traces' | 'publicUrl' | 'host' | 'port'>,
  parts: Pick<TracerParts, 'clock' | 'log' | 'metrics'>,
): Promise<Tracer | null> {
  if (traces === null) return null;
  const { openOtlpTracer } = await import('./tracing/otlp.ts');
  const { propagates, queueMax } = traces;
  return openOtlpTracer({ ...parts, propagates, queueMax, origin: publicUrl ?? ownOrigin(host, port) });
}

/** The origin of a server on one address; empty if it listens on all, or on a port that the system picks. */
function ownOrigin(host: string, port: number): string {
  if (port === 0 || host === '0.0.0.0' || host === '::') return '';
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
