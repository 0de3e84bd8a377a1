/**
 * The link's page: reads its address, requests the assistant's public description, and shows the conversation with it.
 */
import type { Link, Visitor } from '../../client/types.ts';
import { ConnectionError } from '../../client/failure.ts';
import { Parley } from '../../client/parley.ts';
import type { ParleyError } from '../../client/failure.ts';
import type { FrameMode, ToFrame } from '../messages.ts';
import { directionOf, languageOf, type Language, type Words } from '../words.ts';
import { Chat, type Admission, type VisitorFields } from './chat.ts';
import { after, now, wallClock } from './clock.ts';
import { element, iconButton } from '../dom.ts';
import type { Identity } from './identity.ts';
import { Memory, parsed, type Memories } from './memory.ts';
import { Notice } from './notice.ts';
import { openFrame, type ParentFrame } from './parent.ts';
import { setScheme } from './theme.ts';
import { View } from './view.ts';

/** The languages' modules, one file each; the module of the page's language is preloaded before this runs. */
const wordsOf: Readonly<Record<Language, () => Promise<{ words: Words }>>> = {
  en: () => import('../words/en.ts'),
  de: () => import('../words/de.ts'),
  fr: () => import('../words/fr.ts'),
  es: () => import('../words/es.ts'),
  pt: () => import('../words/pt.ts'),
  ja: () => import('../words/ja.ts'),
  ar: () => import('../words/ar.ts'),
};

/** The name of the module of calls, which stands apart: the build puts it here. */
declare const callModule: string;

const root = document.documentElement;
const query = new URLSearchParams(location.search);
const slug = decodeURIComponent(location.pathname.split('/')[2] ?? '');
/** The site around the page; opened by itself the frame's page is the link's. */
const host = window.parent === window ? null : query.get('host');
const worklet = root.dataset['voice'];
/** Whether the assistant admits only visitors whom the site has signed in. */
const isIdentityRequired = root.dataset['identity'] === 'required';
const codeRetryMs = 2000;

class Page {
  readonly #link: Link;
  #chat: Chat | null = null;
  #view: View | null = null;
  #frame: ParentFrame | null = null;
  #language: Language;
  #mode: FrameMode | null = null;
  #open = host === null;
  /** Whether the view takes the focus once it is there. */
  #focuses = host === null;
  #unread = 0;
  #prefilled: VisitorFields = {};
  #admission: Admission = {
    identity: null,
    signed: null,
    shut: isIdentityRequired || (host !== null && query.has('identity')) ? 'asked' : null,
  };
  /** Fields that the site has signed. */
  #signedFields: VisitorFields = {};
  /** The token that the site has sent last. */
  #token = '';
  #identity: Promise<Identity> | null = null;
  #memory: Memories = new Memory([slug, host ?? ''].join(' ').trim());
  /** Called with what the site has kept. */
  #remembered: (value: string | undefined) => void = () => {};

  constructor(link: Link, language: Language) {
    this.#link = link;
    this.#language = language;
  }

  async begin(): Promise<void> {
    if (host !== null) {
      this.#mode = (['panel', 'full', 'inline'] as const).find((mode) => mode === query.get('mode')) ?? 'panel';
      const remembered = new Promise<string | undefined>((resolve) => (this.#remembered = resolve));
      const frame = openFrame(host, (message) => void this.#hear(message));
      this.#frame = frame;
      if (query.has('remember')) {
        const { SiteMemory } = await import('./site-memory.ts');
        this.#memory = new SiteMemory(await remembered, parsed, (value) => frame.post({ type: 'remember', value }));
      }
    }
    if (isIdentityRequired && !query.has('identity')) void this.#identify('');
    await this.#show();
    document.title = this.#link.name;
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && !event.isComposing && this.#mode !== null && this.#mode !== 'inline')
        this.#frame!.post({ type: 'close' });
    });
    if (this.#focuses) this.#view!.focus();
    this.#announceReady();
  }

  get #theChat(): Chat {
    this.#chat ??= new Chat({
      url: location.origin,
      link: this.#link,
      host,
      memory: this.#memory,
      fields: () => this.#view!.fields?.values ?? {},
      admission: this.#admission,
      listener: {
        changed: () => this.#view?.changed(),
        replied: (message) => {
          this.#view?.replied(message);
          if (!this.#open) this.#count(this.#unread + 1);
        },
        returned: (text, field) => this.#view?.returned(text, field),
        failed: (error) => {
          const { code = null } = error as Partial<ParleyError>;
          if (code === 'invalid_token') void this.#identify(this.#token, true);
          else this.#frame?.post({ type: 'error', code });
        },
        retried: () => void this.#identify(this.#token, true),
      },
    });
    return this.#chat;
  }

  /** Takes what the site says of the visitor; `again`: the service may say something else by now. */
  async #identify(token: string, again = false): Promise<void> {
    this.#token = token;
    // Code that is still to come hides no conversation.
    if (token !== '' && this.#identity === null) this.#admit({ ...this.#admission, shut: 'asked' });
    this.#identity ??= import('./identity.ts').then(({ Identity }) => {
      const options = { slug, isRequired: isIdentityRequired, memory: () => this.#memory, after, now };
      return new Identity({
        ...options,
        language: () => this.#language,
        admission: () => this.#admission,
        ask: (token) => this.#visitorOf(token),
        admit: (admission, fields) => this.#admit(admission, fields),
        report: (code, hint) => this.#frame?.post({ type: 'error', code, ...(hint !== null && { hint }) }),
      });
    });
    try {
      (await this.#identity).identify(this.#token, again);
    } catch {
      this.#identity = null;
      after(codeRetryMs, () => void this.#identify(this.#token, again));
    }
  }

  #visitorOf(identity: string | null): Promise<Visitor> {
    const link = { slug, identity: () => identity, ...(host !== null && { host }) };
    return new Parley({ url: location.origin, clock: wallClock, link }).visitor();
  }

  /** Shows the conversation of another visitor, or none. Nothing of the one before stays, nor what he or she typed. */
  #admit(admission: Admission, fields: VisitorFields = {}): void {
    const before = this.#admission;
    this.#admission = admission;
    this.#signedFields = fields;
    if (before.shut === null && admission.shut === null && before.signed?.id === admission.signed?.id) {
      if (admission.signed !== null) this.#chat?.renewed(admission);
      return;
    }
    this.#chat?.leave();
    this.#chat = null;
    if (before.shut !== null) {
      this.#view?.fields?.settle(fields);
      return this.#view?.changed();
    }
    this.#prefilled = {};
    if (this.#unread > 0) this.#count(0);
    const hadFocus = document.hasFocus();
    this.#view?.quiet();
    this.#view = null;
    document.body.replaceChildren();
    void this.#show().then(() => hadFocus && this.#view?.focus());
  }

  /** Draws the page in its language, again when the language changes. */
  async #show(): Promise<void> {
    const language = this.#language;
    const [{ words }, form, voice] = await Promise.all([
      wordsOf[language](),
      this.#link.visitor_fields.length > 0 ? loaded(import('./fields.ts')) : null,
      worklet === undefined ? null : voiceButtons(),
    ]);
    if (language !== this.#language) return;
    const draft = this.#view?.draft;
    const focused = document.activeElement?.id ?? '';
    root.lang = language;
    root.dir = directionOf(language);
    this.#view?.quiet();
    const view = new View({
      link: this.#link,
      words,
      language,
      form,
      voice:
        voice &&
        ((made) => new voice.VoiceButtons(made, worklet!, { iconButton, now, calls: () => import(callModule) })),
      chat: () => this.#theChat,
      close: () => this.#frame?.post({ type: 'close' }),
    });
    this.#view = view;
    view.mode = this.#mode;
    view.fields?.prefill(this.#prefilled);
    view.fields?.settle(this.#signedFields);
    document.body.replaceChildren(view.element);
    if (draft !== undefined) {
      view.draft = draft;
      // A person who is typing continues in the same field.
      document.getElementById(focused)?.focus({ preventScroll: true });
    }
    view.changed();
  }

  async #hear(message: ToFrame): Promise<void> {
    switch (message.type) {
      case 'view':
        return this.#noteView(message.open, message.mode);
      case 'locale': {
        this.#language = languageOf(String(message.lang)) ?? 'en';
        await this.#show();
        return this.#announceReady();
      }
      case 'theme':
        if (message.scheme !== undefined) setScheme(message.scheme);
        if (message.accent !== undefined) void paint(message.accent);
        return;
      case 'visitor':
        this.#prefilled = { ...this.#prefilled, ...message.fields };
        return this.#view?.fields?.prefill(this.#prefilled);
      case 'identity':
        return this.#identify(String(message.token));
      case 'new':
        return this.#view?.begin();
      case 'remembered':
        return this.#remembered(message.value);
    }
  }

  #noteView(open: boolean, mode: FrameMode): void {
    const opened = open && !this.#open;
    this.#open = open;
    this.#mode = mode;
    if (!open) this.#view?.quiet();
    if (this.#view !== null) this.#view.mode = mode;
    if (open && this.#unread > 0) this.#count(0);
    this.#view?.changed();
    if (!opened || mode === 'inline') return;
    if (this.#view === null) this.#focuses = true;
    else this.#view.focus();
  }

  #count(unread: number): void {
    this.#unread = unread;
    this.#frame?.post({ type: 'unread', count: unread });
  }

  #announceReady(): void {
    this.#frame?.post({ type: 'ready', name: this.#link.name, lang: this.#language, dir: directionOf(this.#language) });
  }
}

/** The buttons for voice, where it is on: they come while the assistant's description is requested. */
const voiceButtons = (): Promise<typeof import('./voice-buttons.ts')> => loaded(import('./voice-buttons.ts'));

/** Colours of the site's; most pages have none. */
const paint = async (accent: string | null): Promise<void> =>
  accent === null && !root.style.getPropertyValue('--accent')
    ? undefined
    : loaded(import('./accent.ts')).then(
        ({ setAccent }) => setAccent(accent),
        () => {},
      );

/** Code that does not come is a connection that is lost. */
const loaded = <Module>(coming: Promise<Module>): Promise<Module> =>
  coming.catch((cause: unknown) => Promise.reject(new ConnectionError('The code did not come.', { cause })));

/** Retries until the service answers; a refusal is shown in words. */
async function start(language: Language, retryMs = 2000): Promise<void> {
  const { words } = await wordsOf[language]();
  try {
    await new Page(await new Parley({ url: location.origin, link: slug }).about(), language).begin();
  } catch (error) {
    const lost = error instanceof ConnectionError;
    const again = (): void => {
      cancel();
      void start(language, Math.min(retryMs * 2, 30_000));
    };
    const cancel = lost ? after(retryMs, again) : () => {};
    const notice = new Notice(words, language, { retry: again, renew: again });
    notice.show(lost ? { kind: 'offline' } : { kind: 'failed', error: error as Error });
    document.body.replaceChildren(element('main', { className: 'alone' }, notice.element));
  }
}

setScheme(query.get('scheme'));
void paint(query.get('accent'));
if (worklet !== undefined) voiceButtons().catch(() => {});
followViewport();
await start(languageOf(root.lang) ?? 'en');

/**
 * Keeps the page as high as its visible part: where a phone's keyboard covers the page instead of shrinking it, the
 * page moves up.
 */
function followViewport(): void {
  const viewport = window.visualViewport;
  if (viewport === null) return;
  const fit = (): void => {
    // When zoomed in, only a part of the page is visible, and the page stays as it is.
    const covered = Math.abs(viewport.scale - 1) < 0.01 && window.innerHeight - viewport.height > 1;
    document.documentElement.style.setProperty('--height', covered ? `${viewport.height}px` : '100dvh');
    if (covered) window.scrollTo(0, 0);
  };
  viewport.addEventListener('resize', fit);
  fit();
}
