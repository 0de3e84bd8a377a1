/** `parley usage` */
import { Option, type Command } from 'commander';
import type { Usage, UsageCounts } from '../client/types.ts';
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { counted } from '../base/text.ts';
import { moment } from './arguments.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import { table, time } from './output.ts';

interface UsageOptions extends ConnectionOptions {
  readonly start?: string;
  readonly end?: string;
  readonly bucket?: string;
  readonly assistant?: string;
}

export function registerUsage(program: Command, io: Io): void {
  addConnectionOptions(program.command('usage').description('print usage by day or hour'))
    .option(
      '--start <when>',
      `a span back from now such as 7d, a date or Unix seconds (default: ${limits.usageDaysDefault} days before the end)`,
    )
    .option('--end <when>', 'likewise, exclusive (default: now)')
    .addOption(new Option('--bucket <size>', 'one line for each').choices(['day', 'hour']))
    .option('--assistant <id|name>', 'only of this assistant')
    .addHelpText('after', examples)
    .action(usage(io));
}

const examples = `
Examples:
  parley usage --start 7d
  parley usage --start 2026-01-01 --end 2026-02-01 --assistant demo --json`;

const usage =
  (io: Io) =>
  (options: UsageOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, clock, workspace, show }) => {
      const now = secondsOf(clock.now());
      const when = (flag: string, text: string | undefined) =>
        text === undefined ? undefined : moment(flag, text, now, true);
      const assistant_id = options.assistant && (await client.idOf(workspace, 'assistants', options.assistant));
      const query = {
        start: when('--start', options.start),
        end: when('--end', options.end),
        bucket: options.bucket,
        assistant_id,
      };
      show(await client.get<Usage>(`${workspace}/usage`, query), render);
    });

const counts: readonly (readonly [keyof UsageCounts, string])[] = [
  ['sessions', 'SESSIONS'],
  ['turns', 'TURNS'],
  ['failed_turns', 'FAILED'],
  ['input_tokens', 'TOKENS IN'],
  ['output_tokens', 'TOKENS OUT'],
  ['speech_characters', 'SPEECH CHARS'],
  ['transcription_seconds', 'TRANSCRIBED S'],
  ['tool_calls', 'TOOL CALLS'],
  ['cached_input_tokens', 'CACHED IN'],
  ['feedback_up', 'UP'],
  ['feedback_down', 'DOWN'],
  ['handovers', 'HANDOVERS'],
  ['person_messages', 'BY PEOPLE'],
];

function render(usage: Usage): string {
  const window = `From ${time(usage.start)} to ${time(usage.end)}`;
  const used = usage.data.filter((bucket) => counts.some(([name]) => bucket[name] > 0));
  if (used.length === 0) return `${window}: no usage.`;
  const row = (label: string, record: UsageCounts) => [label, ...counts.map(([name]) => String(record[name]))];
  const label = (start: number) => (usage.bucket === 'day' ? time(start).slice(0, 10) : time(start));
  const columns = [{ title: usage.bucket.toUpperCase() }, ...counts.map(([, title]) => ({ title, right: true }))];
  const empty = usage.data.length - used.length;
  const note = empty === 0 ? '' : `\n\nWithout use, and left out: ${counted(empty, usage.bucket)}.`;
  return `${window}\n\n${table(columns, [...used.map((bucket) => row(label(bucket.start), bucket)), row('total', usage.totals)])}${note}`;
}
