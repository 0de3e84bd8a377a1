/** `parley webhooks` (contract 17) */
import { Option, type Command } from 'commander';
import { limits } from '../base/limits.ts';
import { webhookEvents } from '../base/webhook-events.ts';
import type { CreatedWebhookView, DeliveryView, WebhookView } from '../wire/wire.ts';
import { gather } from './arguments.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { segment } from './console-client.ts';
import { UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { addPageOptions, listOf, pageQuery, showPage, type ListView, type PageOptions } from './list.ts';
import { oneLine, secretText, time } from './output.ts';

interface CreateOptions extends ConnectionOptions {
  readonly event?: readonly string[];
}

interface UpdateOptions extends CreateOptions {
  readonly webhookUrl?: string;
}

export function registerWebhooks(program: Command, io: Io): void {
  const webhooks = program
    .command('webhooks')
    .description('URLs of yours that receive an event when a turn or session ends: create, deliveries, retry');
  webhooks.addHelpText('after', examples);
  addPageOptions(webhooks.command('list').description('list the webhooks')).action(listOf(io, 'webhooks', webhookList));
  addConnectionOptions(
    eventOption(
      webhooks
        .command('create')
        .description(
          `create a webhook, at most ${limits.webhooksMax} in a workspace; the secret that signs its events is shown once`,
        )
        .argument(
          '<webhook-url>',
          'https://, or http:// to a private address, which needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1 on the server',
        ),
      ' (default: every type)',
    ),
  ).action(create(io));
  addConnectionOptions(
    eventOption(withWebhook(webhooks, 'update', 'change the URL or the events of a webhook')).option(
      '--webhook-url <url>',
      'its new URL',
    ),
  ).action(update(io));
  for (const [verb, enabled, description] of switches)
    addConnectionOptions(withWebhook(webhooks, verb, description)).action(change(io, enabled));
  addPageOptions(
    withWebhook(webhooks, 'deliveries', 'list the newest deliveries with their status and attempts'),
  ).action(deliveries(io));
  addConnectionOptions(
    withWebhook(webhooks, 'retry', 'send a delivery again now, whatever its status').argument(
      '<delivery>',
      "the delivery's id",
    ),
  ).action(retry(io));
  addConnectionOptions(
    withWebhook(webhooks, 'delete', 'delete a webhook; its waiting deliveries are not sent any more'),
  ).action(remove(io));
}

const withWebhook = (parent: Command, name: string, description: string): Command =>
  parent.command(name).description(description).argument('<webhook>', "the webhook's id");

const eventOption = (command: Command, byDefault = ''): Command =>
  command.addOption(
    new Option(
      '--event <type>',
      `a type of event to send: ${webhookEvents.join(', ')}; may be given several times${byDefault}`,
    ).argParser(gather),
  );

const switches = [
  ['enable', true, 'send events to a webhook again, from now on'],
  ['disable', false, 'send no event to a webhook that happens from now on'],
] as const;

const examples = `
Examples:
  parley webhooks create https://crm.example.com/parley --event turn.failed --event session.ended
  parley webhooks list
  parley webhooks deliveries whk_01jm3k4q8z9v5x7w2r6t0y1n3b
  parley webhooks retry whk_01jm3k4q8z9v5x7w2r6t0y1n3b dlv_01jm3k4q8z9v5x7w2r6t0y1n3b`;

const create =
  (io: Io) =>
  (url: string, { event = webhookEvents, ...options }: CreateOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      show(
        await client.post<CreatedWebhookView>(`${workspace}/webhooks`, { url, events: event }),
        ({ id, secret }) => `Created the webhook ${id}. Its events are signed with${secretText(secret)}`,
      );
    });

const update =
  (io: Io) =>
  (id: string, { event, webhookUrl, ...options }: UpdateOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      if (event === undefined && webhookUrl === undefined)
        throw new UsageFailure('Nothing to change: give --event or --webhook-url.');
      const body = { url: webhookUrl, events: event };
      show(await client.patch<WebhookView>(pathOf(workspace, id), body), (one) => `Changed the webhook ${one.id}.`);
    });

const change =
  (io: Io, enabled: boolean) =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      show(
        await client.patch<WebhookView>(pathOf(workspace, id), { enabled }),
        (one) => `The webhook ${one.id} is ${stateOf(one)}.`,
      );
    });

const deliveries =
  (io: Io) =>
  (id: string, options: PageOptions): Promise<void> =>
    inWorkspace(io, options, (connection) =>
      showPage(connection, `${pathOf(connection.workspace, id)}/deliveries`, pageQuery(options), deliveryList),
    );

const retry =
  (io: Io) =>
  (id: string, delivery: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const path = `${pathOf(workspace, id)}/deliveries/${segment(delivery)}/retry`;
      show(await client.post<DeliveryView>(path), (one) => `The delivery ${one.id} is sent again now.`);
    });

const remove =
  (io: Io) =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      show(await client.delete(pathOf(workspace, id)), () => `Deleted the webhook ${oneLine(id)}.`);
    });

const pathOf = (workspace: string, id: string): string => `${workspace}/webhooks/${segment(id)}`;

const stateOf = ({ enabled }: WebhookView): string => (enabled ? 'enabled' : 'disabled');

const webhookList: ListView<WebhookView> = {
  empty: 'No webhooks.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'URL', cell: ({ url }) => url },
    { title: 'EVENTS', cell: ({ events }) => events.join(', ') },
    { title: 'STATE', cell: stateOf },
    { title: 'CREATED', cell: (webhook) => time(webhook.created_at) },
  ],
};

const deliveryList: ListView<DeliveryView> = {
  empty: 'No deliveries.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'EVENT', cell: ({ type }) => type },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'ATTEMPTS', right: true, cell: ({ attempts }) => attempts },
    { title: 'NEXT ATTEMPT', cell: ({ next_at: at }) => time(at) },
  ],
};
