/**
 * The function by which a site's scripts talk to its widgets: `parley('open')`, or `parley('support.open')` where there
 * are several. A stub that only gathers its calls may be there before (see docs/widget.md), or the function of another
 * server's widget, which is used.
 */
export interface Controlled {
  readonly slug: string;
  run(command: string, given: readonly unknown[]): void;
}

interface Api {
  (...call: unknown[]): void;
  /** Says to the first widget who the visitor is; to all widgets that nobody is signed in. */
  identify?: (token?: string | null) => void;
  /** Calls that came before the first widget. */
  q?: ArrayLike<unknown>[];
  widgets?: Controlled[];
}

/** The number of unanswered calls kept is bounded. */
const waitingMax = 100;

const globals = window as unknown as { parley?: Api };

function makeApi(waiting: ArrayLike<unknown>[]): Api {
  const widgets: Controlled[] = [];
  const api: Api = (...call) => {
    if (call.length > 0) waiting.push(call);
    for (const one of waiting.splice(0)) {
      const [first, ...given] = Array.from(one);
      const [command, name] = String(first).split('.').reverse();
      const meant = widgets.filter(({ slug }, at) => name === '*' || (name ? slug === name : at === 0));
      for (const widget of meant) widget.run(command!, given);
      if (meant.length === 0 && waiting.length < waitingMax) waiting.push(one);
    }
  };
  api.widgets = widgets;
  api.identify = (token) => api(token ? 'identify' : '*.identify', token);
  return api;
}

/**
 * Adds the widget that `make` makes, unless there is one of its slug, as where a site puts the tag in again at each
 * navigation.
 */
export function addWidget(slug: string, make: (widgets: Controlled[]) => Controlled): void {
  const { q, widgets: known } = Object(globals.parley) as Partial<Api>;
  if (!Array.isArray(known)) globals.parley = makeApi(Array.isArray(q) ? q : []);
  const api = globals.parley!;
  const widgets = api.widgets!;
  if (widgets.some((one) => one.slug === slug)) return;
  widgets.push(make(widgets));
  api();
}
