/** Tools as the command prints them. */
import type { ToolView } from '../wire/wire.ts';
import type { ListView } from './list.ts';
import { fields, oneLine, printable, time } from './output.ts';

type Fault = NonNullable<ToolView['refresh_error']>;
type ToolFunction = ToolView['functions'][number];

const steps: Readonly<Record<Fault['step'], string>> = {
  connect: 'while connecting',
  probe: 'at the probe of the protocol (server/discover)',
  initialize: 'at the handshake (initialize)',
  list: 'while reading the list (tools/list)',
};

const reasons: Partial<Record<Fault['error'], string>> = {
  unreachable: 'There was no connection, or it ended without an answer',
  refused: 'The server refused the request (look at its URL and its credential), or the credential cannot be used',
  timeout: "There was no whole answer within the tool's time",
  too_large: 'The answer was too large',
  malformed: 'The answer was not that of an MCP server',
};

/** Says in a sentence why the list of an MCP server could not be read. */
export const refreshErrorText = ({ step, error }: Fault): string =>
  `${reasons[error] ?? 'The list could not be read'} ${steps[step]} (${step}: ${error}).`;

export function stateOf({ name, id, functions }: ToolView): string {
  const on = functions.filter(({ enabled }) => enabled).map(({ name: one }) => one);
  const off = functions.length - on.length;
  const more =
    off === 0 ? '' : ` Off are ${off} of ${functions.length}: turn them on with \`parley tools enable ${id}\`.`;
  return `The tool "${oneLine(name)}" (${id}) offers ${on.length === 0 ? 'no function' : on.join(', ')}.${more}`;
}

const functionState = ({ enabled, quarantined }: ToolFunction): string =>
  !enabled ? ' (off)' : quarantined ? ` (refused by ${quarantined.provider})` : '';

export const toolList: ListView<ToolView> = {
  empty: 'No tools.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'KIND', cell: ({ kind }) => kind },
    {
      title: 'FUNCTIONS',
      cell: ({ functions }) => functions.map((one) => one.name + functionState(one)).join(', '),
    },
    { title: 'URL', cell: ({ url }) => url },
    { title: 'UPDATED', cell: (tool) => time(tool.updated_at) },
  ],
};

export function renderTool(tool: ToolView): string {
  const { refreshed_at: refreshedAt, refresh_error: fault } = tool;
  const settingsOf = ({ approval, show }: ToolFunction): string =>
    [approval && `approval ${approval}`, show && `show ${show}`].filter(Boolean).join(', ');
  const functionText = (one: ToolFunction): string => {
    const settings = settingsOf(one);
    return `${one.name}${functionState(one)}${settings === '' ? '' : ` (${settings})`}${one.description ? `: ${oneLine(one.description)}` : ''}`;
  };
  return fields([
    ['tool', tool.id],
    ['name', oneLine(tool.name)],
    ['kind', tool.kind],
    ['url', tool.url ?? ''],
    ['credential', tool.credential_id ?? ''],
    ['timeout', `${tool.timeout_seconds} s`],
    ['calls a minute', tool.calls_per_minute === null ? 'no limit' : String(tool.calls_per_minute)],
    ['repeatable', tool.repeatable ? 'yes' : 'no'],
    ['disabled', tool.disabled ? 'yes' : 'no'],
    ['approval', tool.approval],
    ['show', tool.show],
    ['functions', printable(tool.functions.map(functionText).join('\n'))],
    ['list read', refreshedAt === null ? '' : time(refreshedAt)],
    ['refresh error', fault ? `${time(fault.at)}: ${refreshErrorText(fault)}` : ''],
    ['created', time(tool.created_at)],
    ['updated', time(tool.updated_at)],
  ]);
}
