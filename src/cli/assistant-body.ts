/** The settings of an assistant as flags, and the body of the request that they make. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { limits } from '../limits.ts';
import { decimal, gather, visitorField, wholeNumber } from './arguments.ts';
import { UsageFailure } from './exit.ts';

export interface AssistantOptions {
  readonly name?: string;
  readonly description?: string;
  readonly greeting?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly credential?: string;
  readonly systemPrompt?: string;
  readonly systemPromptFile?: string;
  readonly temperature?: number;
  readonly outputTokensMax?: number;
  readonly voice?: boolean;
  readonly link?: boolean;
  readonly widget?: boolean;
  readonly visitorField?: readonly string[];
  readonly maxCallSeconds?: number;
  readonly from?: string;
}

export const assistantFlags = (command: Command): Command =>
  command
    .option('--description <text>', 'what it is for')
    .option('--greeting <text>', "the transcript's first message")
    .option('--provider <name>', 'scripted (embedded, rule-based), openai, anthropic, or synthetic on a server with PARLEY_SYNTHETIC=1 (default for a new one: scripted)')
    .option('--model <name>', "the provider's name for the model")
    .option('--credential <id>', "the provider's credential")
    .option('--system-prompt <text>', 'the instructions that the model gets before the conversation')
    .option('--system-prompt-file <file>', 'the same from a file; - reads stdin')
    .option('--temperature <number>', '0 to 2', decimal)
    .option('--output-tokens-max <number>', 'tokens of one reply', wholeNumber(1, 1_000_000))
    .option('--voice', 'turn voice on')
    .option('--no-voice', 'turn voice off')
    .option('--link', 'turn the public link on')
    .option('--no-link', 'turn the public link off')
    .option('--widget', 'turn the widget on')
    .option('--no-widget', 'turn the widget off')
    .option('--visitor-field <field>', 'NAME[:TYPE][:required][:LABEL], type text, email, number or boolean; may be given several times', gather)
    .option('--max-call-seconds <number>', 'how long a session lasts', wholeNumber(1, limits.maxCallSecondsMax))
    .option('--from <file>', "settings as JSON in the API's shape; - reads stdin; the other flags win");

/** Only what was named is in the body. A new assistant without a model gets the embedded one. */
export function assistantBody(options: AssistantOptions, purpose: 'create' | 'update'): Record<string, unknown> {
  const base = options.from === undefined ? {} : jsonObject(options.from);
  const body = defined({
    ...base,
    ...defined({ name: options.name, description: options.description, greeting: options.greeting, max_call_seconds: options.maxCallSeconds }),
    visitor_fields: options.visitorField?.map(visitorField) ?? base.visitor_fields,
    channels: merged(base.channels, { voice: options.voice, link: options.link, widget: options.widget }),
    model: merged(base.model, model(options)),
  });
  if (purpose === 'create') complete(body);
  return body;
}

function model(options: AssistantOptions): Record<string, unknown> {
  if (options.systemPrompt !== undefined && options.systemPromptFile !== undefined) throw new UsageFailure('Give --system-prompt or --system-prompt-file, not both.');
  const system_prompt = options.systemPromptFile === undefined ? options.systemPrompt : fileText(options.systemPromptFile);
  return {
    provider: options.provider,
    name: options.model,
    credential_id: options.credential,
    system_prompt,
    temperature: options.temperature,
    output_tokens_max: options.outputTokensMax,
  };
}

function complete(body: Record<string, unknown>): void {
  if (typeof body.name !== 'string' || body.name === '') throw new UsageFailure('Name the assistant, as in `parley assistants create NAME`.');
  const { provider = 'scripted', ...rest } = (body.model ?? {}) as Record<string, unknown>;
  if (provider !== 'scripted' && rest.name === undefined) throw new UsageFailure(`Name the model of ${String(provider)} with --model.`);
  body.model = { provider, name: 'scripted', ...rest };
}

const defined = (object: Record<string, unknown>): Record<string, unknown> => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** The flags over the file's object; undefined if neither names anything. */
function merged(base: unknown, flags: Record<string, unknown>): unknown {
  const named = defined(flags);
  return Object.keys(named).length === 0 ? base : { ...(base as object | undefined), ...named };
}

function jsonObject(file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(fileText(file));
  } catch (error) {
    if (error instanceof UsageFailure) throw error;
    throw new UsageFailure(`${file} is not valid JSON.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UsageFailure(`${file} must hold a JSON object.`);
  return value as Record<string, unknown>;
}

function fileText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageFailure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
  }
}
