/** The picture of the house as data: which rooms there are, what each may import, and why. */

export interface Room {
  readonly name: string;
  /** Paths of files, or of folders when they end in a slash. The first room that fits a file has it. */
  readonly files: readonly string[];
  /** Names of the rooms that it may import, beside itself. */
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

const ground = ['leaves', 'errors'];
const interfaces = ['store', 'edge', 'model'];
/** What a request is answered with. */
const domain = ['machines', 'budget', 'host', 'turn', 'wire', 'voice', ...ground, ...interfaces];

export const rooms: readonly Room[] = [
  room('start', ['src/start.mjs', 'src/prepare.mjs', 'src/prepare-pages.mjs', 'src/prepare-widget.mjs', 'src/load.mjs', 'src/build.mjs', 'src/pack-client.mjs'], [], 'On a fresh clone there is nothing else to import yet.', []),
  room(
    'leaves',
    [...leaves('limits', 'clock', 'ids', 'config', 'data-folder', 'voice-folder', 'log', 'keys', 'vault', 'transcription-tokens', 'visitor-tokens', 'metrics', 'text', 'members', 'signals', 'promptly', 'announced', 'coalesced', 'origin', 'accept'), 'src/metrics/'],
    ['errors'],
    'Everything may stand on them, so they stand on nothing.',
  ),
  room('errors', ['src/errors.ts'], [], 'The one table of what a client can be told; server, client and document share it.'),
  room('budget', ['machines/budget.ts'], [], "The budgets' arithmetic is one pure function, which the key's machine and the stores share.", []),
  room('machines', ['machines/'], ['budget'], 'A machine says what may happen and does nothing: no I/O, no clock, no ids.', ['xstate']),
  room('charts', ['src/charts.ts'], ['machines', ...ground], 'The charts are drawn from the machines alone.'),

  room('store', ['src/store.ts', 'src/records.ts', 'src/store/parts/'], [...ground], 'An interface shows nothing of its implementations.'),
  room('edge', ['src/edge.ts'], [...ground], 'An interface shows nothing of its implementations.'),
  room('model', ['src/model.ts'], [...ground], 'An interface shows nothing of its implementations.'),
  room('voice', ['src/voice.ts'], ['model', ...ground], 'An interface shows nothing of its implementations.'),
  room('synthetic names', ['src/synthetic-name.ts'], ['model', ...ground], 'Names of synthetic models and of synthetic voices are read alike.'),
  room('history', ['src/model/history.ts'], ['model', ...ground], 'What a provider is told does not depend on the provider.'),
  room('framing', ['src/edge/event-stream.ts'], [...ground], 'Events are framed alike for both engines.'),
  room('findings', ['src/doctor/check.ts', 'src/doctor/records.ts'], ['store', ...ground], 'A store that is looked over says what it finds in the shape that all have.'),
  room('stores', ['src/store/'], ['store', 'findings', ...ground, 'budget'], 'An implementation knows its interface and the leaves.'),
  room('engines', ['src/edge/'], ['edge', 'framing', ...ground], 'An implementation knows its interface and the leaves.'),
  room('provider', ['src/provider.ts', 'src/provider/'], ['model', ...ground], 'What calls a provider, to converse or to speak, shares one HTTP client and its guards.'),
  room('models', ['src/model/'], ['model', 'history', 'synthetic names', 'provider', ...ground], 'An implementation knows its interface and the leaves.'),

  room('audio formats', ['src/voice/audio/formats.ts'], [], 'The shapes on the wire name the formats and bring nothing along that reads or writes them.', []),
  room(
    'audio',
    ['src/voice/sentences.ts', 'src/voice/audio/'],
    ['audio formats'],
    'Samples, bytes and text in, samples, bytes and text out: it knows no socket, no provider and no store.',
    ['@evan/opus', 'wasm-media-encoders', 'node:fs/promises', 'node:module'],
  ),

  room(
    'voice process',
    ['src/voice/engine/'],
    ['audio'],
    'It runs apart from the server: it is given orders, and knows neither who gives them nor any setting.',
    ['onnxruntime-node', 'llama-tokenizer-js', '@bjorn3/browser_wasi_shim', 'node:fs', 'node:module', 'node:os', 'node:path'],
  ),
  room('voices', ['src/voice/'], ['voice', 'voice process', 'audio', 'synthetic names', 'provider', 'model', ...ground], 'An implementation knows its interface and the leaves; the desk puts them together.'),

  room('wire', ['src/wire.ts', 'src/wire/'], ['audio formats', ...ground], 'The client shares the shapes, so they drag no server along.'),
  room('client', ['src/client/'], [], 'The client runs where there is no server, and carries nothing but the parser of event streams.', ['eventsource-parser']),
  room(
    'pages',
    ['src/web/'],
    ['machines', 'budget', 'wire'],
    "The pages run in a browser: they bring along the machines and, as types, the shapes on the wire, and nothing of the server.",
    ['preact', 'preact/hooks', '@preact/signals', 'uplot', 'xstate', 'eventsource-parser', 'typebox'],
  ),
  room('turn', ['src/turn.ts', 'src/turn/'], ['machines', ...ground, ...interfaces], 'A turn is a log; it knows nothing of requests.'),
  room('host', ['src/host.ts', 'src/host/'], ['turn', 'machines', 'budget', ...ground, ...interfaces], 'The host runs machines; it knows nothing of requests.'),
  room('request', ['src/services.ts', 'src/readiness.ts', 'src/request.ts', 'src/views.ts', 'src/throttle.ts', 'src/client-address.ts', 'src/own-origins.ts', 'src/cookies.ts', 'src/sign-ins.ts', 'src/conditional.ts', 'src/static-files.ts', 'src/pages.ts'], ['voices', ...domain], 'What every handler is given, and the shapes that it answers in.'),
  room('conversation', ['src/conversation/'], ['request', 'history', 'voices', 'audio', 'audio formats', ...domain], 'Sessions, turns and speech on behalf of any caller: it knows no key, no header and no stream.'),
  room('docs', ['src/docs.ts', 'src/docs/'], [], 'The page is made of the OpenAPI document and of nothing else.', ['node:crypto']),
  room('link words', ['src/link/words.ts', 'src/link/words/'], [], 'Server and page say the same things.', []),
  room('link messages', ['src/link/messages.ts'], [], "The widget's loader and the page in its frame are written apart, and meet here.", []),
  room('link page', ['src/link/page/'], ['client', 'link words', 'link messages'], 'The page runs in a browser, on the client and nothing else.', []),
  room('widget', ['src/link/widget/'], ['link messages'], "The loader runs on other people's sites, in 4 KB: it brings nothing along.", []),
  room('link pages', ['src/link/'], ['link words', 'link messages'], 'The pages are text with their policy, the same for every slug.', []),
  room('handlers', ['src/handlers/'], ['conversation', 'request', 'framing', 'history', 'docs', 'link pages', 'link words', 'audio formats', ...domain], 'A handler is called by the pipeline and calls down only.'),
  room('console', ['src/console/'], ['handlers', 'conversation', 'request', 'framing', ...domain], "The console's API may use a handler; no handler uses the console's."),
  room(
    'routes',
    ['src/routes.ts', 'src/routes/', 'src/router.ts', 'src/openapi.ts', 'src/openapi/', 'src/asyncapi.ts', 'src/reference.ts', 'src/reference/'],
    ['handlers', 'console', 'request', 'package.json', ...domain],
    'One table names the handlers.',
  ),
  room(
    'pipeline',
    ['src/pipeline.ts', 'src/pipeline/', 'src/upgrade.ts', 'src/service-port.ts'],
    ['routes', 'handlers', 'console', 'request', ...domain],
    'The order of checks stands above what is checked.',
  ),

  room(
    'first start',
    ['src/first-start.ts', 'src/secrets.ts', 'src/resealing.ts'],
    ['console', 'request', ...domain],
    'What an empty store and an empty folder are given before the first request.',
  ),
  room('supervisor', ['src/supervisor.ts', 'src/supervisor/'], ['edge', 'request', ...ground], 'What starts and ends processes names no engine and sees no request but those of a service port; each worker is a whole server.'),
  room(
    'moving',
    ['src/moving.ts', 'src/moving/'],
    ['first start', 'stores', 'store', ...ground],
    'Whoever carries all from one store to another names both, and serves nobody.',
  ),
  room(
    'main',
    ['src/main.ts', 'src/edges.ts', 'src/ending.ts'],
    ['first start', 'supervisor', 'pipeline', 'routes', 'handlers', 'console', 'request', 'stores', 'engines', 'models', 'voices', 'provider', 'charts', ...domain],
    'The one place that constructs things names the implementations.',
  ),
  room(
    'doctor',
    ['src/doctor.ts', 'src/doctor/'],
    ['findings', 'first start', 'stores', 'engines', 'store', 'voices', 'voice process', 'audio', ...ground, 'package.json'],
    'It looks at what main would construct, and constructs nothing but a voice process for a moment.',
  ),
  room(
    'command',
    ['src/cli.ts', 'src/cli/'],
    ['main', 'supervisor', 'moving', 'doctor', 'charts', 'client', 'wire', 'audio', ...ground, 'package.json'],
    'The command line talks to a server over HTTP, or starts one; only a move goes past it to the stores.',
  ),
];

function leaves(...names: string[]): string[] {
  return names.map((name) => `src/${name}.ts`);
}

/** The room of a file, or its path when it has none: the one file outside the house that may be imported is package.json. */
export function roomOf(path: string): string {
  return rooms.find((one) => one.files.some((file) => (file.endsWith('/') ? path.startsWith(file) : path === file)))?.name ?? path;
}
