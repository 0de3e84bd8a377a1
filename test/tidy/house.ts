/**
 * The picture of the house as data (docs/house.md): its parts from the top, the rooms distinguished within them, what
 * each may import, and why. A part imports parts below it and nothing above.
 */

export interface Room {
  readonly name: string;
  /** Paths of files, or of folders when they end in a slash. */
  readonly files: readonly string[];
  /** Names of the rooms and parts that it may import, beside itself. The name of a part stands for all rooms in it. */
  readonly imports: readonly string[];
  /** The packages that it may import; any, when this is left out. */
  readonly packages?: readonly string[];
  readonly why: string;
}

const room = (name: string, files: string[], imports: string[], why: string, packages?: string[]): Room => ({
  name,
  files,
  imports,
  why,
  ...(packages && { packages }),
});

const part = (name: string, imports: string[], why: string, packages?: string[]): Room =>
  room(
    name,
    [name === 'machines' ? 'machines/' : name.endsWith('.ts') ? `src/${name}` : `src/${name}/`],
    imports,
    why,
    packages,
  );

/** From the top. */
export const parts: readonly Room[] = [
  part('install', [], 'On a fresh clone there is nothing else to import yet.', []),
  part(
    'cli',
    ['main.ts', 'operations', 'charts', 'providers', 'client', 'wire', 'base', 'package.json'],
    'The command line talks to a server over HTTP, or starts one; only a move goes past it to the stores.',
  ),
  part(
    'main.ts',
    [
      'operations',
      'http',
      'conversation',
      'host.ts',
      'assistant',
      'actors',
      'access',
      'providers',
      'store',
      'metrics',
      'base',
    ],
    'The one place that constructs things names the implementations.',
  ),
  part(
    'operations',
    [
      'http',
      'conversation',
      'host.ts',
      'turn',
      'host',
      'actors',
      'access',
      'providers',
      'store',
      'wire',
      'metrics',
      'base',
      'package.json',
    ],
    'What starts, ends, moves and examines an installation serves nobody.',
  ),
  part(
    'http',
    [
      'pages',
      'conversation',
      'host.ts',
      'turn',
      'assistant',
      'host',
      'actors',
      'access',
      'model and voice',
      'tool rules',
      'store interface',
      'wire',
      'metrics',
      'base',
      'machines',
      'package.json',
    ],
    'HTTP is said here, and nothing is decided.',
  ),
  part('pages', [], 'A page runs in a browser. Each has a room of its own.', []),
  part(
    'conversation',
    [
      'host.ts',
      'turn',
      'assistant',
      'host',
      'actors',
      'access',
      'model and voice',
      'history',
      'tool rules',
      'voices',
      'audio',
      'store interface',
      'wire',
      'metrics',
      'base',
      'machines',
    ],
    'Sessions, turns and speech on behalf of any caller: it knows no key, no header and no stream.',
  ),
  part(
    'host.ts',
    ['turn', 'host', 'actors', 'store interface', 'base', 'machines'],
    'It constructs the actors of a process and their turns, and keeps them; it knows nothing of requests.',
  ),
  part(
    'turn',
    ['assistant', 'host', 'actors', 'model and voice', 'history', 'store interface', 'metrics', 'base', 'machines'],
    'A turn has its whole life here, and calls nobody above; it knows nothing of requests.',
  ),
  part(
    'assistant',
    ['host', 'access', 'model and voice', 'history', 'tool rules', 'store interface', 'metrics', 'base'],
    'The model, tools and credential of an assistant do not depend on who converses.',
  ),
  part(
    'host',
    ['actors', 'access', 'model and voice', 'store interface', 'base', 'machines'],
    'An actor of the host runs its machine; it knows nothing of turns and requests.',
  ),
  part('actors', ['store interface', 'base', 'machines'], 'An actor runs any machine, and knows none by name.'),
  part('access', ['store interface', 'base', 'machines'], 'Who somebody is does not depend on what they ask for.'),
  part('providers', ['base', 'package.json'], 'A provider is called alike, whoever calls.'),
  part('store', ['metrics', 'base', 'machines'], 'A store keeps rows and knows no reason for them.'),
  part('client', [], 'The client runs where there is no server, and carries nothing but the parser of event streams.', [
    'eventsource-parser',
  ]),
  part('wire', ['base'], 'The client and the pages share the shapes, so they drag no server along.'),
  part('metrics', ['base'], 'Every part may count; a metric knows none of them.'),
  part('base', ['machines'], 'Everything may stand on it, so it stands on nothing.'),
  part('machines', [], 'A machine says what may happen and does nothing: no I/O, no clock, no ids.', ['xstate']),
];

/** The parts that answer a request. */
const domain = [
  'machines',
  'conversation',
  'host.ts',
  'turn',
  'assistant',
  'host',
  'actors',
  'access',
  'model and voice',
  'tool rules',
  'store interface',
  'wire',
  'metrics',
  'base',
  'request',
];

/** The first room that fits a file has it; a file that none fits is in its part alone. */
export const rooms: readonly Room[] = [
  room(
    'first start',
    ['src/operations/first-start.ts', 'src/operations/secrets.ts', 'src/operations/resealing.ts'],
    ['console', 'access', 'host.ts', 'host', 'actors', 'conversation', 'store interface', 'base'],
    'What an empty store and an empty folder are given before the first request.',
  ),
  room(
    'supervisor',
    ['src/operations/supervisor.ts', 'src/operations/supervisor/'],
    ['conversation', 'store', 'metrics', 'base'],
    'What starts and ends processes names no engine and sees no request but those of a management port; each worker is a whole server.',
  ),
  room(
    'row checks',
    ['src/operations/moving/checks.ts', 'src/operations/moving/checks/'],
    [
      'conversation',
      'host.ts',
      'turn',
      'host',
      'actors',
      'model and voice',
      'tool rules',
      'provider client',
      'store',
      'wire',
      'base',
      'machines',
    ],
    'A row that comes in passes what the API demands of a request, so the checks know the rules of every part, and serve nobody.',
  ),
  room(
    'moving',
    ['src/operations/moving.ts', 'src/operations/moving/'],
    ['row checks', 'operations', 'access', 'store', 'base'],
    'A program that carries all from one store to another names both, and serves nobody.',
  ),
  room(
    'traces',
    ['src/operations/tracing.ts', 'src/operations/tracing/'],
    ['metrics', 'base', 'package.json'],
    "OpenTelemetry's packages and names are here alone: the rest tells a span its facts.",
    [
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
      'node:module',
    ],
  ),
  room(
    'deliveries',
    ['src/operations/webhooks.ts', 'src/operations/webhooks/'],
    ['access', 'tools', 'tool rules', 'provider client', 'store interface', 'metrics', 'base'],
    'What sends an event knows its row and its webhook, and neither turns nor sessions.',
  ),
  room(
    'doctor',
    ['src/operations/doctor.ts', 'src/operations/doctor/'],
    ['operations', 'engines', 'access', 'providers', 'store', 'base', 'package.json'],
    'It looks at what main would construct, and constructs nothing but a voice process for a moment.',
  ),

  room(
    'pipeline',
    ['src/http/pipeline.ts', 'src/http/pipeline/', 'src/http/management-port.ts'],
    ['routes', 'handlers', 'console', ...domain],
    'The order of checks stands above what is checked.',
  ),
  room(
    'docs',
    ['src/http/reference/docs.ts', 'src/http/reference/docs/'],
    ['palette'],
    'The page is made of the OpenAPI document and of nothing else, in the colours of all pages.',
    ['node:crypto'],
  ),
  room(
    'routes',
    ['src/http/routes.ts', 'src/http/routes/', 'src/http/router.ts', 'src/http/reference.ts', 'src/http/reference/'],
    ['handlers', 'openai', 'console', 'package.json', ...domain],
    'One table names the handlers.',
  ),
  room(
    'console',
    ['src/http/console/'],
    ['handlers', 'charts', 'framing', 'sign-in page', ...domain],
    "The console's API may use a handler; no handler uses the console's.",
  ),
  room(
    'openai',
    ['src/http/openai/'],
    ['handlers', 'framing', ...domain],
    "OpenAI's API is the same conversations in other words: it decides nothing, and may use a handler.",
  ),
  room(
    'handlers',
    ['src/http/handlers/'],
    ['framing', 'docs', 'landing page', 'favicon', 'link pages', 'words', 'package.json', ...domain],
    'A handler is called by the pipeline and calls down only.',
  ),
  room(
    'link pages',
    ['src/http/link-pages.ts'],
    ['words'],
    'The pages are text with their policy, the same for every slug.',
    [],
  ),
  room(
    'landing page',
    ['src/http/landing-page.ts'],
    ['docs'],
    'The page is the same for everybody, and so knows nobody.',
    ['node:crypto'],
  ),
  room(
    'sign-in page',
    ['src/http/sign-in-page.ts'],
    ['docs'],
    'The page of a failed sign-in has words of its own and knows nobody.',
    ['node:crypto'],
  ),
  room('charts', ['src/http/charts.ts'], ['machines', 'base'], 'The charts are drawn from the machines alone.'),
  room('framing', ['src/http/edge/event-stream.ts'], ['base'], 'Events are framed alike for both engines.'),
  room('engines', ['src/http/edge/'], ['framing', 'base'], 'An implementation knows its interface and the leaves.'),
  room(
    'request',
    ['src/http/request.ts', 'src/http/pages.ts', 'src/http/paths.ts', 'src/http/openai-errors.ts'],
    ['conversation', 'host.ts', 'host', 'access', 'store interface', 'wire', 'base'],
    'What every handler is given.',
  ),

  room(
    'console pages',
    ['src/pages/console/'],
    ['machines', 'wire', 'client', 'call bar', 'dom', 'link settings', 'roles'],
    "The pages run in a browser: they bring along the machines, the table of roles, the settings of a link, the client's clock and, as types, the shapes on the wire, and nothing of the server.",
    ['preact', 'preact/hooks', '@preact/signals', 'uplot', 'xstate', 'eventsource-parser', 'typebox', 'diff'],
  ),
  room('words', ['src/pages/words.ts', 'src/pages/words/'], [], 'Server and page say the same things.', []),
  room(
    'messages',
    ['src/pages/messages.ts'],
    [],
    "The widget's loader and the page in its frame are written apart, and meet here.",
    [],
  ),
  room(
    'call bar',
    ['src/pages/call/'],
    ['client', 'words', 'dom'],
    'A call looks alike on the link, in the widget and in the console.',
    [],
  ),
  room('dom', ['src/pages/dom.ts', 'src/pages/enter.ts'], [], 'Elements and keys know no page.', []),
  room(
    'link page',
    ['src/pages/link/'],
    ['client', 'words', 'messages', 'call bar', 'dom'],
    'The page runs in a browser, on the client and nothing else.',
    [],
  ),
  room(
    'widget',
    ['src/pages/widget/'],
    ['messages'],
    "The loader runs on other people's sites, in 4 KB: it brings nothing along.",
    [],
  ),
  room('favicon', ['src/pages/favicon.ts'], [], 'The icon knows no page.', ['node:fs']),
  room('palette', ['src/pages/palette.ts'], [], 'The colours know no page.', ['node:fs']),

  room(
    'model and voice',
    [
      'src/providers/identity.ts',
      'src/providers/model.ts',
      'src/providers/tool.ts',
      'src/providers/voice.ts',
      'src/providers/synthetic-name.ts',
      'src/providers/voice-folder.ts',
    ],
    ['base'],
    'An interface shows nothing of its implementations.',
  ),
  room(
    'provider client',
    ['src/providers/client.ts', 'src/providers/client/'],
    ['model and voice', 'base', 'package.json'],
    'What calls a provider, to converse or to speak, shares one HTTP client and its guards.',
  ),
  room(
    'history',
    ['src/providers/model/history.ts'],
    ['model and voice', 'base'],
    'What a provider is told does not depend on the provider.',
  ),
  room(
    'tool rules',
    [
      'src/providers/tool/arguments.ts',
      'src/providers/tool/credential-header.ts',
      'src/providers/tool/schema-check.ts',
      'src/providers/tool/listed-schema.ts',
      'src/providers/tool/listing.ts',
      'src/providers/tool/argument-repair.ts',
      'src/providers/tool/schema-error.ts',
      'src/providers/tool/pattern.ts',
      'src/providers/tool/schema.ts',
      'src/providers/tool/signature.ts',
    ],
    ['model and voice', 'base'],
    'What is checked and signed does not depend on how it is sent.',
  ),
  room(
    'tools',
    ['src/providers/tool/'],
    ['tool rules', 'model and voice', 'provider client', 'base', 'package.json'],
    'An implementation knows its interface and the leaves.',
  ),
  room(
    'models',
    ['src/providers/model/'],
    ['history', 'model and voice', 'provider client', 'base'],
    'An implementation knows its interface and the leaves.',
  ),
  room(
    'identity',
    ['src/providers/identity/'],
    ['model and voice', 'provider client', 'base'],
    'An implementation knows its interface and the leaves.',
    ['openid-client'],
  ),
  room(
    'audio',
    ['src/providers/voice/sentences.ts', 'src/providers/voice/speakable.ts', 'src/providers/voice/audio/'],
    ['base'],
    'Samples, bytes and text in, samples, bytes and text out: it knows no socket, no provider and no store.',
    ['@evan/opus', 'wasm-media-encoders', 'node:fs/promises', 'node:module'],
  ),
  room(
    'voice process',
    ['src/providers/voice/engine/'],
    ['audio'],
    'It runs apart from the server: it is given orders, and knows neither who gives them nor any setting.',
    [
      'onnxruntime-node',
      'llama-tokenizer-js',
      '@bjorn3/browser_wasi_shim',
      'node:fs',
      'node:module',
      'node:os',
      'node:path',
    ],
  ),
  room(
    'voices',
    ['src/providers/voice/'],
    ['voice process', 'audio', 'model and voice', 'provider client', 'base'],
    'An implementation knows its interface and the leaves; `voices.ts` puts them together.',
  ),

  room(
    'store interface',
    ['src/store/store.ts', 'src/store/records.ts', 'src/store/records/', 'src/store/readiness.ts', 'src/store/parts/'],
    ['base'],
    'An interface shows nothing of its implementations.',
  ),
  room(
    'link settings',
    ['src/base/link-fields.ts', 'src/base/link-limits.ts'],
    [],
    'The settings of a link are shared by the API, the command and the pages.',
    [],
  ),
  room('roles', ['src/base/roles.ts'], [], 'The table of roles is shared by the API and the pages.', []),
  room(
    'budget',
    ['machines/budget.ts'],
    [],
    "The budgets' arithmetic is one pure function, which the key's machine and the stores share.",
    [],
  ),
];

const fits =
  (path: string) =>
  (one: Room): boolean =>
    one.files.some((file) => (file.endsWith('/') ? path.startsWith(file) : path === file));

/** The room of a file, or else its part; undefined when it has none. */
export const ownRoomOf = (path: string): Room | undefined => rooms.find(fits(path)) ?? parts.find(fits(path));

export const partOf = (path: string): Room | undefined => parts.find(fits(path));

/**
 * The name of a file's room, or its path when it has none: the one file outside the house that may be imported is
 * package.json.
 */
export const roomOf = (path: string): string => ownRoomOf(path)?.name ?? path;

/**
 * Whether a file may import another: it is of the same room, or the room allows its room or its part. A file that is in
 * its part alone may import all of the part.
 */
export function mayImport(path: string, target: string): boolean {
  const own = ownRoomOf(path);
  const other = roomOf(target);
  const below = partOf(target)?.name ?? other;
  return (
    own === undefined ||
    other === own.name ||
    below === own.name ||
    own.imports.includes(other) ||
    own.imports.includes(below)
  );
}
