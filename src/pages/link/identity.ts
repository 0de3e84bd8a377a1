/**
 * The visitor as the site around the frame says it: the page asks the service for the visitor of the site's token, and
 * shows no conversation meanwhile. Imported where a site says so or has to, so it stands alone.
 */
import type { ParleyError, RateLimitError } from '../../client/failure.ts';
import type { Visitor } from '../../client/types.ts';
import type { Language } from '../words.ts';
import type { Admission, Trouble, VisitorFields } from './chat.ts';
import { identityWords, type IdentityWords } from './identity-words.ts';
import type { Memories } from './memory.ts';

export interface IdentityOptions {
  readonly slug: string;
  /** Whether the assistant admits nobody else. */
  readonly isRequired: boolean;
  memory(): Memories;
  language(): Language;
  now(): number;
  after(ms: number, run: () => void): () => void;
  admission(): Admission;
  /** Requests the visitor of a token; a new one for null. */
  ask(token: string | null): Promise<Visitor>;
  admit(admission: Admission, fields?: VisitorFields): void;
  /** Reports to the site; `hint` is one line of its console. */
  report(code: string | null, hint: string | null): void;
}

/** The service takes no longer token. */
const charactersMax = 4096;
const retryMs = 4000;

/** The reason why there is no conversation, in the words of the page's language. */
class Refusal extends Error {
  readonly #said: () => string;

  constructor(said: () => string) {
    super();
    this.#said = said;
  }

  get said(): string {
    return this.#said();
  }
}

const nobody: Admission = { identity: null, signed: null, shut: null };

export class Identity {
  readonly #options: IdentityOptions;
  /** The token that came last; '' for nobody. */
  #wanted = '';
  /** The token that was decided last; null where the last one is to be decided again. */
  #decided: string | null = null;
  #isDeciding = false;
  #cancelRetry = (): void => {};
  /** The signed visitor who was shown last. */
  #shown: string | null = null;
  /** The other tabs of this site, as far as the browser lets the frame know of them. */
  readonly #tabs: BroadcastChannel | null;

  constructor(options: IdentityOptions) {
    this.#options = options;
    this.#tabs = channelOf(options.slug);
    // The site has signed the visitor out in another tab.
    this.#tabs?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (data === this.#options.admission().signed?.id) this.identify('', false);
    });
  }

  /**
   * Takes the site's token; `asks`: also without a token the service is asked. A token that comes while another is
   * decided is next, and those in between are passed over.
   */
  identify(token: string, asks: boolean): void {
    this.#wanted = token;
    this.#shown = this.#options.admission().signed?.id ?? this.#shown;
    if (asks) this.#decided = null;
    if (token === this.#decided) return;
    if (!this.#isShown(token)) this.#shut('asked');
    if (!this.#isDeciding) void this.#decide(asks);
  }

  /** Decides one token after the other, until none has come meanwhile. */
  async #decide(asks: boolean): Promise<void> {
    this.#isDeciding = true;
    for (; this.#wanted !== this.#decided; asks = false) {
      this.#cancelRetry();
      const token = (this.#decided = this.#wanted);
      if (token.length > charactersMax) this.#refuse('refused', hints.tooLong);
      else if (token !== '' || asks) await this.#request(token);
      else if (this.#options.isRequired) this.#refuse('signIn', hints.required);
      else this.#admitNobody();
    }
    this.#isDeciding = false;
  }

  async #request(token: string): Promise<void> {
    const { ask, admit, report } = this.#options;
    const identity = token === '' ? null : token;
    try {
      const visitor = await ask(identity);
      if (this.#wanted !== token) return;
      if (identity !== null) return admit({ identity, signed: visitor, shut: null }, claimsOf(token).visitor ?? {});
      this.#admitNobody();
      report('invalid_token', null);
    } catch (error) {
      if (this.#wanted === token) this.#fail(token, error as Error);
    }
  }

  #admitNobody(): void {
    const memory = this.#options.memory();
    // The conversation of a visitor whom the site has signed out.
    if (memory.read()?.visitor.token === '') memory.write(null);
    this.#options.admit(nobody);
    this.#tabs?.postMessage(this.#shown);
    this.#shown = null;
  }

  #fail(token: string, error: Partial<ParleyError> & Error): void {
    const { code = null, field } = error;
    const { retryAfterSeconds } = error as Partial<RateLimitError>;
    if (code === 'invalid_token' && token === '') this.#refuse('signIn', hints.required);
    else if (code === 'invalid_token' || field === 'identity')
      this.#refuse('refused', this.#hasExpired(token) ? hints.expired : hints.refused);
    else {
      this.#options.report(code, null);
      if (typeof retryAfterSeconds === 'number')
        this.#retry(retryAfterSeconds * 1000, { kind: 'limited', at: this.#options.now() + retryAfterSeconds * 1000 });
      else if (code === null) this.#retry(retryMs, { kind: 'offline' });
      else this.#shut({ kind: 'failed', error });
    }
  }

  /** A visitor whose conversation is shown keeps it meanwhile. */
  #retry(ms: number, trouble: Trouble): void {
    if (!this.#isShown(this.#wanted)) this.#shut(trouble);
    this.#cancelRetry = this.#options.after(ms, () => this.identify(this.#wanted, true));
  }

  #refuse(word: keyof IdentityWords, hint: (slug: string) => string): void {
    const { language, report, slug } = this.#options;
    this.#shut({ kind: 'failed', error: new Refusal(() => identityWords[language()][word]) });
    report('invalid_token', hint(slug));
  }

  #shut(shut: 'asked' | Trouble): void {
    this.#options.admit({ ...nobody, shut });
  }

  /** Whether the conversation that is shown belongs to the token's visitor, provided that the token is good. */
  #isShown(token: string): boolean {
    const { shut, identity } = this.#options.admission();
    if (shut !== null) return false;
    if (identity === null || token === '' || token.length > charactersMax) return identity === null && token === '';
    const { sub } = claimsOf(token);
    return sub !== undefined && sub === claimsOf(identity).sub;
  }

  #hasExpired(token: string): boolean {
    const { exp } = claimsOf(token);
    return exp !== undefined && exp * 1000 < this.#options.now();
  }
}

function channelOf(slug: string): BroadcastChannel | null {
  try {
    return new BroadcastChannel(`parley:${slug}`);
  } catch {
    return null;
  }
}

interface Claims {
  readonly sub?: string;
  readonly exp?: number;
  readonly visitor?: VisitorFields;
}

/** The claims of a token, which only the service can verify. */
function claimsOf(token: string): Claims {
  try {
    const bytes = atob(token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/'));
    return Object(JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.charCodeAt(0))))) as Claims;
  } catch {
    return {};
  }
}

/** Lines for the browser's console, where the site's owner reads them. */
const hints = {
  required: (slug: string): string =>
    `parley: "${slug}" admits only visitors whom this site has signed in. Give their token to data-identity or parley.identify().`,
  expired: (slug: string): string =>
    `parley: the identity for "${slug}" has expired. Sign a token for each page, or call parley.identify() with a new one.`,
  tooLong: (slug: string): string =>
    `parley: the identity for "${slug}" has more than 4,096 characters. Sign fewer fields.`,
  refused: (slug: string): string =>
    `parley: the identity for "${slug}" was refused. Sign it by HS256 with the secret of this assistant's link, with "sub" and an "exp" at most 24 hours ahead.`,
};
