/** A widget's conversation on the site's page: open or closed, with its frame from the first opening on. */
import type { FromFrame, ToFrame } from '../messages.ts';
import { makeBackButton } from './back.ts';
import { makeFrame } from './frame.ts';
import { makeMemory } from './memory.ts';
import { bare, type On, type Parts, type Settings } from './parts.ts';
import { layPanel } from './place.ts';

/** Phones, upright and on their side; a keyboard leaves more than this of a tablet's screen. */
export const phone = matchMedia('(max-width:520px),(max-height:480px) and (max-width:960px)');

export interface Stage {
  isOpen: boolean;
  open(): void;
  close(): void;
  toggle(): void;
  send(message: ToFrame): void;
  /**
   * Shows the panel as it is and as the window has room for it; `takesFocus` where the person has just opened it, or
   * was in it.
   */
  view(takesFocus?: boolean): void;
  /** Sends who the visitor is; nobody without a token. */
  identify(token?: string | null): void;
  /** After a reload the conversation is open where it was. */
  isBack(): boolean;
}

/** The frame's address, with the settings that hold from the first paint on. */
function withQuery(
  page: URL,
  mode: string,
  { locale: lang, theme: scheme, accent, identity: token }: Settings,
  remember: string,
): URL {
  const identity = token && '1';
  for (const [name, value] of Object.entries({ host: location.origin, mode, lang, scheme, accent, remember, identity }))
    if (value) page.searchParams.set(name, value);
  return page;
}

export function makeStage(
  on: On,
  emit: (name: string, detail?: object) => void,
  settings: Settings,
  page: URL,
  { host, root, launcher, badge, panel }: Parts,
): Stage {
  let opener: Element | null;
  const { slug, inline, launcher: own } = settings;
  const modeOf = () => (inline ? 'inline' : phone.matches ? 'full' : 'panel');
  const hasFocus = (): boolean => document.activeElement === host;
  const focus = (element: Element | null): void =>
    (element as HTMLElement | null)?.focus(bare({ preventScroll: true }));
  const memory = makeMemory(settings);
  const heard = (message: FromFrame): void => {
    if (message.type === 'close') stage.close();
    else if (message.type === 'remember') remember(message.value);
    else if (message.type === 'ready') panel.ariaLabel = frame.element!.title = message.name;
    else {
      if (message.type === 'unread') {
        badge.hidden = !message.count;
        badge.textContent = ` ${message.count}`;
      }
      if (message.hint) console.warn(message.hint);
      emit(message.type, message);
    }
  };
  // A person who waited in the panel continues in the page.
  const frame = makeFrame(on, page.origin, () => stage.view(), heard);
  const remember = (value?: string): unknown => memory && frame.send({ type: 'remembered', value: memory(value) });
  remember();
  const hint = `parley: no page for "${slug}"; see its link's origins for ${location.origin} and the frame-src here.`;
  on(panel, 'animationend', () => frame.hasMet || heard({ type: 'error', code: null, hint }));
  const [isBack, enter, leave] = makeBackButton(on, slug!, (open) => (open ? stage.open() : stage.close()));
  const stage: Stage = {
    isOpen: false,
    open() {
      if (stage.isOpen) return;
      opener = hasFocus() ? root.activeElement : document.activeElement;
      stage.isOpen = true;
      // Loaded again if it did not come.
      if (!frame.hasMet) panel.replaceChildren(frame.load(withQuery(page, modeOf(), settings, memory ? '1' : '')));
      if (modeOf() === 'full') enter();
      stage.view(!inline);
      emit('open');
    },
    close() {
      if (!stage.isOpen || inline) return;
      const returns = hasFocus();
      stage.isOpen = false;
      panel.close();
      leave();
      stage.view();
      if (returns) focus(opener);
      emit('close');
    },
    toggle: () => (stage.isOpen ? stage.close() : stage.open()),
    send: frame.send,
    identify(token) {
      settings.identity = `${token || ''}`;
      frame.send({ type: 'identity', token: settings.identity });
    },
    view(takesFocus = hasFocus()) {
      const { isOpen } = stage;
      const mode = modeOf();
      if (isOpen) {
        if (!inline) layPanel(panel, mode === 'full', frame.hasMet);
        const inner = frame.hasMet ? frame.element : panel;
        if (takesFocus && root.activeElement !== inner) focus(inner);
      }
      // The launcher closes the panel until the page shows its own button for it.
      launcher.hidden = !!own && (frame.hasMet || !isOpen);
      launcher.ariaExpanded = `${isOpen}`;
      frame.send({ type: 'view', open: isOpen, mode });
    },
    isBack,
  };
  stage.view();
  if (settings.identity) stage.identify(settings.identity);
  return stage;
}
