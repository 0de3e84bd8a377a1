/**
 * The messages between the widget's loader, on a site, and the link's page in its frame. Nothing of the conversation
 * crosses: the site's scripts can read everything that the loader can.
 *
 * The page sends `hello` once, to the origin in its `?host=` and to no other, with a `MessagePort`; all further
 * messages use that port. The loader accepts a `hello` only if its `source` is the frame's window and its `origin` is
 * the loader's own; a later one (the frame was loaded again) replaces the port. Settings that hold from the first paint
 * are in the frame's address: see `FrameQuery`.
 */

/** The data of the one message that comes by `postMessage`; its `ports` has the port. */
export const hello = 'parley:hello:1';

/** `light` and `dark` override the device's preference. */
export type Scheme = 'light' | 'dark' | 'auto';

/**
 * The frame's layout on the site: a panel over it, the whole screen of a phone, or a part of the site's page. The page
 * has a close button except in `inline`.
 */
export type FrameMode = 'panel' | 'full' | 'inline';

/** The parameters of `/p/{slug}/frame`; `lang`, `scheme` and `accent` hold for `/p/{slug}` too. */
export interface FrameQuery {
  /** `location.origin` of the site. */
  host: string;
  mode?: FrameMode;
  /** A BCP 47 tag, as in `data-locale`; without it the browser's languages decide. */
  lang?: string;
  scheme?: Scheme;
  /** A colour as `#rrggbb`; the page sees to it that text on it and in it can be read. */
  accent?: string;
  /** `1`: the site keeps what `remember` says, and `remembered` comes first. */
  remember?: '1';
  /** `1`: an `identity` comes, and no conversation is shown before. The identity itself is in no address. */
  identity?: '1';
}

export type ToFrame =
  /**
   * After the port is there and at each change. A frame that opens takes the focus, unless it is `inline`: call
   * `frame.focus()` before.
   */
  | { type: 'view'; open: boolean; mode: FrameMode }
  /** Other words from now on, without a reload. */
  | { type: 'locale'; lang: string }
  /** A field that is absent stays as it is; `accent: null` is the page's own. */
  | { type: 'theme'; scheme?: Scheme; accent?: string | null }
  /**
   * Fills in fields that the person has not touched, by name. They are shown, and can be changed. Names that are no
   * field of the assistant's are ignored.
   */
  | { type: 'visitor'; fields: Record<string, string | number | boolean> }
  /** The JWT in which the site says who the visitor is (contract 23); '' for nobody. */
  | { type: 'identity'; token: string }
  /** A new conversation, as the page's own button begins one. */
  | { type: 'new' }
  /** The value that the site has kept of the last `remember`; undefined for none. */
  | { type: 'remembered'; value: string | undefined };

export type FromFrame =
  /**
   * The page is drawn and accepts messages. `name` is the assistant's; `lang` and `dir` describe the page's words. Sent
   * again after `locale`.
   */
  | { type: 'ready'; name: string; lang: string; dir: 'ltr' | 'rtl' }
  /** Replies, messages by a person and notes that came while the frame was not open; 0 once the frame is open. */
  | { type: 'unread'; count: number; hint?: undefined }
  /** The person closed it: by its button or Escape. */
  | { type: 'close' }
  /**
   * Something failed, and the page says so in words. `code` is of the API's table; null where no answer came. `hint` is
   * for the console of the site's owner.
   */
  | { type: 'error'; code: string | null; hint?: string }
  /**
   * With `remember=1`: the visitor's token and the session, for the next visit; '' forgets. The site's scripts can read
   * both.
   */
  | { type: 'remember'; value: string };
