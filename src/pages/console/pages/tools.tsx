/** Tools: what assistants may call, and a new one. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { useList } from '../data.ts';
import { may } from '../may.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { Choice } from '../parts/field.tsx';
import { Head } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Ago } from '../parts/time.tsx';
import { emptyTool, kinds, toolBodyOf } from '../parts/tool-draft.ts';
import { SecretOnce } from '../parts/secret-once.tsx';
import { ToolFields } from '../parts/tool-form.tsx';
import { apiWorkspace, go, inWorkspace } from '../route.ts';
import type { CreatedTool, Credential, Tool } from '../types.ts';

/** 3 on, 1 off */
function functionsOf({ functions }: Tool): string {
  const on = functions.filter(({ enabled }) => enabled).length;
  const off = functions.length - on;
  const refused = functions.filter(({ quarantined }) => quarantined !== null).length;
  return functions.length === 0
    ? 'none'
    : [
        ...(on > 0 ? [`${on} on`] : []),
        ...(off > 0 ? [`${off} off`] : []),
        ...(refused > 0 ? [`${refused} refused`] : []),
      ].join(', ');
}

export default function Tools() {
  const path = `${apiWorkspace()}/tools`;
  const list = useList<Tool>(path);
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreatedTool | null>(null);
  const open = ({ id }: Tool) => go(inWorkspace('tools', id));
  const created = (tool: CreatedTool) => {
    setCreating(false);
    list.again();
    if (tool.signing_secret === undefined) open(tool);
    else setMade(tool);
  };
  const columns: readonly Column<Tool>[] = [
    { name: 'Tool', width: 'minmax(0, 1.2fr)', cell: ({ id, name }) => <a href={inWorkspace('tools', id)}>{name}</a> },
    { name: 'Kind', width: '72px', cell: ({ kind }) => kind },
    { name: 'Functions', width: '112px', cell: (tool) => <span class="soft">{functionsOf(tool)}</span> },
    {
      name: 'Calls go to',
      width: 'minmax(0, 1.4fr)',
      wide: true,
      cell: ({ url }) => <span class="soft">{url ?? 'the caller of the API'}</span>,
    },
    { name: 'Approval', width: '96px', wide: true, cell: ({ approval }) => <span class="soft">{approval}</span> },
    { name: 'Changed', width: '112px', numeric: true, wide: true, cell: ({ updated_at: at }) => <Ago at={at} /> },
  ];
  const first = may('tools.write') && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create tool
    </button>
  );
  return (
    <>
      <Head name="Tools">{list.items.length > 0 && first}</Head>
      <Rows
        label="Tools"
        columns={columns}
        list={list}
        empty={
          <Empty
            name="No tools yet"
            first={first}
            command={
              'npx parley tools create Orders --tool-url https://orders.example.com/call --functions functions.json'
            }
          >
            A tool lets assistants do things: look an order up, search your documents, book a table. It is a program of
            yours that gets signed requests, an MCP server, or functions that the caller of the API runs. Each call is
            stored before it is sent, and sent once.
          </Empty>
        }
      />
      {creating && <CreateDialog path={path} created={created} close={() => setCreating(false)} />}
      {made?.signing_secret !== undefined && (
        <SecretOnce of={made.name} secret={made.signing_secret} close={() => open(made)}>
          The tool verifies with it that a call is from this server.
        </SecretOnce>
      )}
    </>
  );
}

function CreateDialog({
  path,
  created,
  close,
}: {
  path: string;
  created: (tool: CreatedTool) => void;
  close: () => void;
}) {
  const credentials = useList<Credential>(`${apiWorkspace()}/credentials`).items;
  const [kind, setKind] = useState<Tool['kind']>('http');
  const [draft, setDraft] = useState(emptyTool);
  const sending = useSubmit(async () => {
    const body = toolBodyOf(draft);
    created(
      await ask<CreatedTool>(path, {
        body: { kind, ...body, ...(kind === 'client' && { url: null, credential_id: null }) },
      }),
    );
  });
  return (
    <Dialog name="Create tool" close={close}>
      <form onSubmit={sending.submit}>
        <Choice
          label="Kind"
          value={kind}
          onValue={(value) => setKind(value as Tool['kind'])}
          choices={Object.entries(kinds).map(([name, words]) => [name, `${name}: ${words}`] as const)}
          note="It cannot be changed later."
        />
        <ToolFields
          kind={kind}
          draft={draft}
          change={(fields) => setDraft((held) => ({ ...held, ...fields }))}
          credentials={credentials}
          failure={sending.failure}
        />
        <FormEnd sending={sending} act="Create tool" cancel={close} />
      </form>
    </Dialog>
  );
}
