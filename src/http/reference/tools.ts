/** The reference's texts on tools (contract 13). */
import { limits } from '../../base/limits.ts';
import { grouped } from '../../base/text.ts';
import { listOf, type Area } from './entry.ts';
import * as example from './examples.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const unknown = 'An unknown workspace or an unknown id is 404 `route_not_found`.';
const { functions } = example.tool;
/** The functions of a request: without the fields that only an answer has. */
const given = functions.map(({ quarantined: _, ...fields }) => fields);

export const tools: Area = {
  name: 'Console: tools',
  group: 'Console',
  description:
    "Functions that an assistant's model may call: at an address of yours (`http`), of an MCP server (`mcp`), or run by the caller of the API (`client`). A call is stored before it is sent, and sent once.",
  entries: {
    [`GET ${inWorkspace}/tools`]: {
      does: 'Returns the tools of a workspace, newest first. `limit` and `after` page through the list.',
      surprises: unknown,
      query: { limit: 10 },
      answer: listOf(example.tool),
    },
    [`POST ${inWorkspace}/tools`]: {
      does: `Creates a tool. The answer for an \`http\` tool alone has \`signing_secret\`: each call is a \`POST\` to \`url\`, signed with it as Standard Webhooks says, and the answer, JSON or text, is the output \
(${grouped(limits.toolOutputCharactersMax)} characters of it). The functions of an \`mcp\` tool come with \`…/refresh\`. \`show\` says how much of a call the API's callers see: nothing, its name, or all of it.`,
      repeat: 'A repeat creates a second tool.',
      surprises:
        'An address that may not be called is 422, as that of a credential is; so are two functions of one name, and `parameters` that are no JSON Schema of an object.',
      body: { kind: 'http', name: 'Orders', url: example.tool.url, functions: given },
      answer: { ...example.tool, signing_secret: example.signingSecret },
    },
    [`GET ${inWorkspace}/tools/{id}`]: {
      does: 'Returns one tool.',
      surprises: `${unknown} \`quarantined\` of a function names the provider that refuses its definition: that provider's models are offered the others, until the definition is changed or the provider takes it an hour later.`,
      answer: example.tool,
    },
    [`PATCH ${inWorkspace}/tools/{id}`]: {
      does: 'Changes a tool. Its address, bounds and functions change the drafts of the assistants that have it, and reach people once these are published; `name` and `credential_id` are effective at once. `functions` replaces all of them; of an `mcp` tool it sets `enabled`, `approval` and `show` of those named. `kind` stays. `disabled: true` switches the tool off at once: its functions are offered to no model, and a call of them is `unknown_tool`, a test call as well.',
      repeat: 'A repeat changes nothing but `updated_at`.',
      surprises:
        'What an assistant with this tool could not have, such as two enabled functions of one name, is 422 `functions`. With `If-Match`, a tool of another digest is 409 `draft_changed`, and nothing changes.',
      body: { approval: 'always' },
      answer: { ...example.tool, approval: 'always', updated_at: example.tool.updated_at + 600 },
    },
    [`DELETE ${inWorkspace}/tools/{id}`]: {
      does: 'Deletes a tool, also from the drafts of assistants that have it. Versions that contain it keep it; `disabled` switches it off for them as well.',
      repeat: 'A repeat is 404 `route_not_found`.',
      surprises: unknown,
    },
    [`POST ${inWorkspace}/tools/{id}/refresh`]: {
      does: "Reads the list of an MCP server, and says what has changed. What is new or changed is off until somebody turns it on: a turn is offered what was looked at, whatever the server's list says by then.",
      repeat: 'A repeat reads the list again.',
      surprises:
        'A server whose list cannot be read is 503 `api_error`, and `refresh_error` of the tool says at which step and why; a tool of another kind is 422 `kind`.',
      answer: {
        ...example.tool,
        kind: 'mcp',
        functions: [{ ...functions[0], enabled: false }],
        refreshed_at: example.tool.created_at,
        changes: [{ name: 'look_up_order', change: 'added' }],
      },
    },
    [`POST ${inWorkspace}/tools/{id}/rotate-secret`]: {
      does: 'Gives an `http` tool a new signing secret. The one before signs too for 24 hours.',
      repeat:
        'A repeat gives it another one, and the first signs too for 24 hours: of those before the new one, the nine newest do.',
      surprises: 'A tool of another kind is 422 `kind`.',
      answer: { signing_secret: example.signingSecret },
    },
    [`POST ${inWorkspace}/tools/{id}/test`]: {
      does: 'Calls a function, on or off, with the arguments given, and answers how the call ended: sent, signed and bounded as that of a conversation, on the channel `console`, with null for the ids of assistant, session and turn.',
      cost: "One of the tool's `calls_per_minute`. It is not counted as usage.",
      repeat: 'A repeat calls the function again, under another id.',
      surprises:
        'A call that fails is 200 with `error`, one of the words of a conversation. A tool of the kind `client` is 422 `kind`, a function that it does not have 422 `name`.',
      body: { name: 'look_up_order', arguments: { order: '7' } },
      answer: {
        object: 'tool_test',
        call_id: example.ids.call,
        status: 'completed',
        error: null,
        reason: null,
        output: '{"shipped":true}',
        milliseconds: 84,
      },
    },
    [`GET ${inWorkspace}/sessions/{id}/turns/{turn_id}/steps`]: {
      does: 'Returns what a turn did, in order: its text, its calls of tools, and their results with how long each took.',
      answer: listOf(
        {
          seq: 1,
          at: example.session.created_at + 12,
          kind: 'call',
          call_id: example.ids.call,
          name: 'look_up_order',
          status: null,
          error: null,
          milliseconds: null,
        },
        {
          seq: 2,
          at: example.session.created_at + 12,
          kind: 'result',
          call_id: example.ids.call,
          name: 'look_up_order',
          status: 'completed',
          error: null,
          milliseconds: 84,
        },
        {
          seq: 3,
          at: example.session.created_at + 13,
          kind: 'text',
          call_id: null,
          name: null,
          status: null,
          error: null,
          milliseconds: null,
        },
      ),
    },
  },
};
