/** `parley link` */
import type { Command } from 'commander';
import { limits } from '../base/limits.ts';
import type { ConsoleAssistantView, LinkStatusView } from '../wire/wire.ts';
import { gather, wholeNumber } from './arguments.ts';
import { addCommand, pathOf } from './assistant-path.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import { fields, oneLine, time } from './output.ts';
import { slugForm } from '../base/link-fields.ts';
import { linkLimitNames, type LinkLimitName } from '../base/link-limits.ts';

interface CreateOptions extends ConnectionOptions {
  readonly slug: string;
  readonly widget?: boolean;
  readonly origin?: readonly string[];
  readonly minutesPerDay?: number;
  readonly concurrentVisitors?: number;
  readonly messagesPerVisitorPerDay?: number;
  readonly messagesPerAddressPerHour?: number;
  readonly placesPerAddress?: number;
  readonly minutesPerAddress?: number;
}

export function registerLink(program: Command, io: Io): void {
  const link = program.command('link').description("an assistant's public link: turn it on, show it, turn it off");
  link.addHelpText('after', examples);
  const ceiling = wholeNumber(0, limits.ceilingMax);
  addConnectionOptions(addCommand(link, 'create', 'turn the link on, with its limits'))
    .requiredOption('--slug <name>', `the name in its address, ${slugForm}`)
    .option('--widget', 'turn the widget on as well')
    .option('--origin <origin>', 'a site that may use it, as https://shop.example; may be given several times', gather)
    .option('--minutes-per-day <number>', 'minutes of conversation a day, UTC (default: 600)', ceiling)
    .option('--concurrent-visitors <number>', 'visitors at a time (default: 25)', ceiling)
    .option('--messages-per-visitor-per-day <number>', 'messages of a visitor a day (default: 100)', ceiling)
    .option('--messages-per-address-per-hour <number>', 'messages of an address an hour (default: 120)', ceiling)
    .option(
      '--places-per-address <number>',
      'visitors of an address at a time (default: half of the visitors, 5 at least)',
      ceiling,
    )
    .option(
      '--minutes-per-address <number>',
      'minutes of an address a day (default: half of the minutes, 30 at least)',
      ceiling,
    )
    .action(create(io));
  addConnectionOptions(addCommand(link, 'show', "show its address and today's usage")).action(show(io));
  addConnectionOptions(addCommand(link, 'off', 'turn link and widget off; the slug stays its own')).action(off(io));
}

const examples = `
Examples:
  parley link create demo --slug hello
  parley link create demo --slug hello --widget --origin https://shop.example
  parley link show demo
  parley link off demo`;

const create =
  (io: Io) =>
  (selector: string, options: CreateOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      const values: Record<LinkLimitName, number | undefined> = {
        minutes_per_day: options.minutesPerDay,
        concurrent_visitors: options.concurrentVisitors,
        messages_per_visitor_per_day: options.messagesPerVisitorPerDay,
        messages_per_address_per_hour: options.messagesPerAddressPerHour,
        places_per_address: options.placesPerAddress,
        minutes_per_address: options.minutesPerAddress,
      };
      const ceilings = Object.fromEntries(
        linkLimitNames.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
      );
      const channels = { link: true, ...(options.widget && { widget: true }) };
      const link = {
        slug: options.slug,
        origins: options.origin,
        ...(Object.keys(ceilings).length > 0 && { limits: ceilings }),
      };
      const { body: assistant } = await connection.client.patch<ConsoleAssistantView>(path, { channels, link });
      connection.show(await connection.client.get<LinkStatusView>(`${path}/link`), (status) => {
        const closed =
          assistant.status === 'published'
            ? ''
            : `\nThe assistant is ${assistant.status === 'draft' ? 'a draft' : assistant.status}, so nobody can talk to it yet.`;
        return `The assistant "${oneLine(assistant.name)}" is at ${status.url}${closed}${assistant.channels.widget ? onSite(assistant, status) : ''}`;
      });
    });

function onSite({ link }: ConsoleAssistantView, { snippet }: LinkStatusView): string {
  const nowhere = link?.origins.length ? '' : '\n\nIt works on no site yet: name one with --origin.';
  return `\n\nOn a site of yours:\n\n  ${snippet}${nowhere}`;
}

const show =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      const { body: assistant } = await connection.client.get<ConsoleAssistantView>(path);
      connection.show(await connection.client.get<LinkStatusView>(`${path}/link`), (status) =>
        render(assistant, status),
      );
    });

const off =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const answer = await connection.client.patch<ConsoleAssistantView>(await pathOf(connection, selector), {
        channels: { link: false, widget: false },
      });
      connection.show(answer, (assistant) => `The link and the widget of "${oneLine(assistant.name)}" are off.`);
    });

const render = ({ channels, link }: ConsoleAssistantView, status: LinkStatusView): string =>
  fields([
    ['link', channels.link ? 'on' : 'off'],
    ['address', status.url ?? ''],
    ['widget', channels.widget ? `on, ${sites(link?.origins ?? [])}` : 'off'],
    ['snippet', status.snippet ?? ''],
    ['day', `${status.day}, until ${time(status.resets_at)}`],
    ['minutes used', String(status.minutes_used)],
    ['visitors present', String(status.visitors_present)],
    ...Object.entries(status.refused).map(([name, count]): [string, string] => [`refused by ${name}`, String(count)]),
  ]);

const sites = (origins: readonly string[]): string =>
  origins.length === 0 ? 'but for no site: name one with `parley link create --origin`' : `for ${origins.join(', ')}`;
