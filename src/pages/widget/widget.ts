/** One widget: its parts put together, what people do with them, and the commands of the site's scripts. */
import type { Controlled } from './api.ts';
import { makeLook } from './look.ts';
import { bare, makeParts, type On, type Parts, type Settings } from './parts.ts';
import { keepPlaced, zoomOf } from './place.ts';
import { makeStage, phone, type Stage } from './stage.ts';

/** A second launcher stands above the first. */
const launcherPixels = 64;

/** Makes a widget. `at` is its place among the page's widgets. */
export function makeWidget(settings: Settings, page: URL, widgets: Controlled[], at = widgets.length): Controlled {
  const { slug, inline, position } = settings;
  const ending = new AbortController();
  const on: On = (target, name, handler) => target.addEventListener(name, handler, bare({ signal: ending.signal }));
  const parts = makeParts(settings);
  const { host, all } = parts;
  const emit = (name: string, detail = {}): boolean =>
    host.dispatchEvent(new CustomEvent(name, { detail: { ...detail, slug } }));
  const paint = makeLook(parts, settings);
  const stage = makeStage(on, emit, settings, page, parts);
  if (position) all.dir = position === 'left' ? 'rtl' : 'ltr';
  all.style.setProperty('--up', `${20 + launcherPixels * at}px`);
  listen(on, settings, parts, stage);
  /** All visitor fields that the site has set, since the frame keeps the last message alone. */
  let known = {};
  let isFirst = true;
  /** A site that shows its page larger does not make the window in front of it larger than the screen. */
  const zoomed = (): void => void (inline || (all.style.zoom = `${1 / zoomOf(host)}`));
  const unplace = keepPlaced(
    host,
    inline,
    () => {
      if (!inline) {
        // The browser's top layer: nothing that the site does to its body moves or clips it.
        host.popover = 'manual';
        host.showPopover?.();
      }
      zoomed();
      if (stage.isOpen) stage.view();
      else if (isFirst && (inline || stage.isBack())) stage.open();
      isFirst = false;
    },
    zoomed,
    () => {
      const again = makeWidget(settings, page, widgets, at);
      unplace();
      ending.abort();
      widgets[widgets.indexOf(widget)] = again;
      again.run('visitor', [known]);
      if (all.hidden) again.run('hide', []);
      else if (stage.isOpen) again.run('open', []);
    },
  );
  const commands = bare({
    open: stage.open,
    close: stage.close,
    toggle: stage.toggle,
    show: () => (all.hidden = false),
    hide() {
      stage.close();
      all.hidden = true;
    },
    new: () => stage.send({ type: 'new' }),
    visitor: (fields: Record<string, string>) =>
      stage.send({ type: 'visitor', fields: (known = { ...known, ...fields }) }),
    identify(token?: string | null) {
      // The known fields may be another person's.
      stage.send({ type: 'visitor', fields: (known = {}) });
      stage.identify(token);
    },
    locale: (lang: string) => stage.send({ type: 'locale', lang }),
    theme: (theme: object) => stage.send(paint(theme)),
    on: (name: string, handler: EventListener) => host.addEventListener(name, handler),
    destroy() {
      stage.close();
      unplace();
      ending.abort();
      widgets.splice(widgets.indexOf(widget), 1);
    },
  }) as Record<string, ((...given: any[]) => void) | undefined>;
  const widget: Controlled = {
    slug: slug!,
    run: (command, given) => (commands[command] ?? (() => console.warn(`parley: no command ${command}`)))(...given),
  };
  // After the calls that came before it.
  queueMicrotask(() => emit('ready'));
  // Opening one widget closes the others, since they share a corner.
  on(host, 'open', () => widgets.forEach((other) => other === widget || other.run('close', [])));
  return widget;
}

function listen(on: On, { launcher: own }: Settings, { root, launcher, panel }: Parts, stage: Stage): void {
  on(launcher, 'click', stage.toggle);
  // The browser's own gesture or key has closed the panel.
  on(panel, 'close', () => panel.open || stage.close());
  on(root, 'keydown', (event) => (event as KeyboardEvent).key === 'Escape' && stage.close());
  const refit = (): void => {
    if (stage.isOpen) stage.view();
  };
  on(phone, 'change', refit);
  on(visualViewport!, 'resize', refit);
  on(visualViewport!, 'scroll', refit);
  if (!own) return;
  on(document, 'click', (event) => {
    if (!(event.target as Element).closest?.(own)) return;
    event.preventDefault();
    stage.toggle();
  });
}
