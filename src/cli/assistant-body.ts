/** The settings of an assistant as flags, and the body of the request that they make. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Option, type Command } from 'commander';
import { limits } from '../base/limits.ts';
import { aliasForm } from '../base/link-fields.ts';
import { decimal, gather, visitorField, wholeNumber } from './arguments.ts';
import { UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { codeOfThrown } from '../base/thrown.ts';

export interface AssistantOptions {
  readonly name?: string;
  readonly description?: string;
  readonly greeting?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly credential?: string;
  readonly historyTokensMax?: number;
  readonly systemPrompt?: string;
  readonly systemPromptFile?: string;
  readonly temperature?: number;
  readonly outputTokensMax?: number;
  readonly reasoning?: string;
  readonly voice?: boolean;
  readonly voiceId?: string;
  readonly link?: boolean;
  readonly widget?: boolean;
  readonly desk?: boolean;
  readonly deskWaitSeconds?: number;
  readonly whileWaiting?: string;
  readonly visitorField?: readonly string[];
  readonly maxCallSeconds?: number;
  readonly alias?: string;
  readonly sessionPolicy?: string;
  readonly requireTests?: boolean;
  /** Ids and names; an empty one alone: none. */
  readonly tool?: readonly string[];
  readonly toolRoundsMax?: number;
  readonly from?: string;
}

export const assistantFlags = (command: Command): Command =>
  command
    .option('--description <text>', 'its purpose')
    .option('--greeting <text>', "the transcript's first message")
    .option(
      '--provider <name>',
      'scripted (embedded, rule-based), openai, anthropic, or synthetic on a server with PARLEY_SYNTHETIC=1 (default for a new one: scripted)',
    )
    .option('--model <name>', "the provider's name for the model")
    .option('--credential <id>', "the provider's credential")
    .option(
      '--history-tokens-max <number>',
      `tokens of the conversation sent to the model, estimated (default: ${limits.historyTokensMax})`,
      wholeNumber(1, limits.historyTokensCeiling),
    )
    .option('--system-prompt <text>', 'the instructions for the model, before the conversation')
    .option('--system-prompt-file <file>', 'the same from a file; - reads stdin')
    .option('--temperature <number>', '0 to 2', decimal(0, 2))
    .option('--output-tokens-max <number>', 'tokens of one reply', wholeNumber(1, 1_000_000))
    .addOption(new Option('--reasoning <mode>', "whether the model's reasoning is shown").choices(['hidden', 'shown']))
    .option('--voice', 'turn voice on')
    .option('--no-voice', 'turn voice off')
    .option('--voice-id <id>', 'the voice that it speaks with, here and in calls: one of `parley voices`')
    .option('--link', 'turn the public link on')
    .option('--no-link', 'turn the public link off')
    .option('--widget', 'turn the widget on')
    .option('--no-widget', 'turn the widget off')
    .option('--desk', 'let visitors and the model ask for a person')
    .option('--no-desk', 'let nobody ask for a person')
    .option(
      '--desk-wait-seconds <number>',
      'how long a visitor waits for a person',
      wholeNumber(limits.deskWaitSecondsMin, limits.deskWaitSecondsMax),
    )
    .addOption(
      new Option('--while-waiting <who>', 'answers a visitor who waits for a person').choices(['assistant', 'silent']),
    )
    .option(
      '--visitor-field <field>',
      'NAME[:TYPE][:required][:LABEL], type text, email, number or boolean; may be given several times',
      gather,
    )
    .option(
      '--max-call-seconds <number>',
      'the length of a session in seconds',
      wholeNumber(1, limits.maxCallSecondsMax),
    )
    .option(
      '--tool <id|name>',
      'a tool that it may call, in place of those it has; may be given several times, and an empty one removes all',
      gather,
    )
    .option(
      '--tool-rounds-max <number>',
      `rounds of calls in a turn (default: ${limits.toolRoundsMax})`,
      wholeNumber(1, limits.toolRoundsCeiling),
    )
    .option('--alias <name>', `its name for OpenAI and MCP clients, ${aliasForm}; an empty one removes it`)
    .addOption(
      new Option(
        '--session-policy <policy>',
        'pin: sessions keep their version; follow: each turn takes the current one',
      ).choices(['pin', 'follow']),
    )
    .option('--require-tests', 'publish a draft only once it has passed all tests')
    .option('--no-require-tests', 'publish any draft')
    .option('--from <file>', "settings as JSON in the API's shape; - reads stdin; the other flags win");

/** The body has the named settings only. A new assistant without a model gets the embedded one. */
export async function assistantBody(
  io: Pick<Io, 'stdin'>,
  options: AssistantOptions,
  purpose: 'create' | 'update',
): Promise<Record<string, unknown>> {
  const base = options.from === undefined ? {} : await jsonObject(io, options.from);
  const body = defined({
    ...base,
    ...defined({
      name: options.name,
      description: options.description,
      greeting: options.greeting,
      max_call_seconds: options.maxCallSeconds,
      tool_rounds_max: options.toolRoundsMax,
      alias: options.alias === '' ? null : options.alias,
      session_policy: options.sessionPolicy,
      require_tests: options.requireTests,
    }),
    visitor_fields: options.visitorField?.map(visitorField) ?? base.visitor_fields,
    channels: merged(base.channels, { voice: options.voice, link: options.link, widget: options.widget }),
    desk: merged(base.desk, {
      enabled: options.desk,
      wait_seconds: options.deskWaitSeconds,
      while_waiting: options.whileWaiting,
    }),
    model: merged(base.model, await model(io, options)),
    voice: merged(base.voice, { voice: options.voiceId }),
  });
  if (purpose === 'create') complete(body);
  return body;
}

async function model(io: Pick<Io, 'stdin'>, options: AssistantOptions): Promise<Record<string, unknown>> {
  if (options.systemPrompt !== undefined && options.systemPromptFile !== undefined)
    throw new UsageFailure('Give --system-prompt or --system-prompt-file, not both.');
  const system_prompt =
    options.systemPromptFile === undefined ? options.systemPrompt : await fileText(io, options.systemPromptFile);
  return {
    provider: options.provider,
    name: options.model,
    credential_id: options.credential,
    history_tokens_max: options.historyTokensMax,
    system_prompt,
    temperature: options.temperature,
    output_tokens_max: options.outputTokensMax,
    reasoning: options.reasoning,
  };
}

function complete(body: Record<string, unknown>): void {
  if (typeof body.name !== 'string' || body.name === '')
    throw new UsageFailure('Name the assistant, as in `parley assistants create NAME`.');
  const { provider = 'scripted', ...rest } = (body.model ?? {}) as Record<string, unknown>;
  if (provider !== 'scripted' && rest.name === undefined)
    throw new UsageFailure(`Name the model of ${String(provider)} with --model.`);
  body.model = { provider, name: 'scripted', ...rest };
  if (isVoiceAlone(body.voice)) body.voice = { provider: usualVoice, ...body.voice };
}

/** The provider of an assistant that has no settings of a voice. */
export const usualVoice = 'embedded';

/** Whether a voice is named and not whose it is. */
export const isVoiceAlone = (voice: unknown): voice is { readonly voice: string } =>
  typeof voice === 'object' && voice !== null && !('provider' in voice);

const defined = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** The flags over the file's object; undefined if neither names anything. */
function merged(base: unknown, flags: Record<string, unknown>): unknown {
  const named = defined(flags);
  return Object.keys(named).length === 0 ? base : { ...(base as object | undefined), ...named };
}

async function jsonObject(io: Pick<Io, 'stdin'>, file: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(await fileText(io, file));
  } catch (error) {
    if (error instanceof UsageFailure) throw error;
    throw new UsageFailure(`${file} is not valid JSON.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageFailure(`${file} must hold a JSON object.`);
  return value as Record<string, unknown>;
}

/** The first look at `process.stdin` opens it, so only `-` looks at it. */
export async function fileText(io: Pick<Io, 'stdin'>, file: string): Promise<string> {
  try {
    return await (file === '-' ? text(io.stdin) : readFile(file, 'utf8'));
  } catch (error) {
    throw new UsageFailure(`${file} cannot be read (${codeOfThrown(error) ?? 'unknown'}).`);
  }
}
