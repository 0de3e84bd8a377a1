/** The text of one block as nodes: code, emphasis, links and line breaks. Any text is read once, from left to right. */
import { link, safeUrl } from './link.ts';

/** Marks that may turn out to open something. */
interface Mark {
  readonly mark: string;
  readonly canOpen: boolean;
}

type Piece = Node | Mark;

/** Maximum distance to an opening mark. A mark further back stays as written. */
const lookBack = 40;
const tags: Readonly<Record<string, 'em' | 'strong' | 'del'>> = {
  '*': 'em',
  _: 'em',
  '**': 'strong',
  __: 'strong',
  '~~': 'del',
};
const addressMax = 2000;
const destination =
  /\(\s{0,9}<?([^\s<>()]{0,2000}(?:\([^\s<>()]{0,2000}\)[^\s<>()]{0,2000}){0,4})>?(?:\s{1,9}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,9}\)/y;
const angled = /<((?:https?:\/\/|mailto:|tel:)[^\s<>]{1,2000})>/y;
const lineBreak = /<br\s{0,9}\/?>/iy;
const bare = /https?:\/\/[^\s<>"`]{1,2000}/y;

/** Returns a text as nodes. `open` for an unfinished text: its unclosed marks are shown as closed. */
export function inline(text: string, open = false): Node[] {
  return new Reader(text, open).read();
}

class Reader {
  readonly #text: string;
  readonly #open: boolean;
  readonly #pieces: Piece[] = [];
  /** Indexes of the open brackets among the pieces. */
  #brackets: number[] = [];
  /** Lengths of runs of backticks that have no equal run behind them. */
  readonly #unclosed = new Set<number>();
  #plain = '';
  #at = 0;

  constructor(text: string, open: boolean) {
    this.#text = text;
    this.#open = open;
  }

  read(): Node[] {
    while (this.#at < this.#text.length) this.#step();
    this.#flush();
    if (this.#open) this.#closeAll();
    return nodes(this.#pieces);
  }

  #step(): void {
    const text = this.#text;
    const char = text[this.#at]!;
    if (char === '\\' && /[!-/:-@[-`{-~]/.test(text[this.#at + 1] ?? '')) {
      this.#plain += text[this.#at + 1];
      this.#at += 2;
    } else if (char === '\n') this.#break(1);
    else if (char === '`') this.#code();
    else if (char === '*' || char === '_' || char === '~') this.#emphasis(char);
    else if (char === '!' && text[this.#at + 1] === '[') this.#at++;
    else if (char === '[') this.#bracket();
    else if (char === ']') this.#closeBracket();
    else if (!(char === '<' && (this.#tag() || this.#address(angled))) && !(char === 'h' && this.#address(bare))) {
      this.#plain += char;
      this.#at++;
    }
  }

  #flush(): void {
    if (this.#plain !== '') this.#pieces.push(document.createTextNode(this.#plain));
    this.#plain = '';
  }

  #push(...pieces: Piece[]): void {
    this.#flush();
    this.#pieces.push(...pieces);
  }

  #break(length: number): void {
    this.#plain = this.#plain.trimEnd();
    this.#push(document.createElement('br'));
    this.#at += length;
  }

  /** The one tag that is read: cells of a table have no other way to break a line. */
  #tag(): boolean {
    lineBreak.lastIndex = this.#at;
    const found = lineBreak.exec(this.#text);
    if (found !== null) this.#break(found[0].length);
    return found !== null;
  }

  #code(): void {
    const start = this.#at;
    while (this.#text[this.#at] === '`') this.#at++;
    const run = '`'.repeat(this.#at - start);
    const end = this.#unclosed.has(run.length) ? -1 : this.#endOf(run);
    if (end < 0) {
      this.#unclosed.add(run.length);
      if (!this.#open || this.#at === this.#text.length) this.#plain += run;
      else this.#codeOf(this.#text.slice(this.#at), this.#text.length);
      return;
    }
    this.#codeOf(this.#text.slice(this.#at, end), end + run.length);
  }

  /** Returns the index of the next run of exactly so many backticks; -1 for none. */
  #endOf(run: string): number {
    for (let end = this.#text.indexOf(run, this.#at); end >= 0;) {
      let behind = end;
      while (this.#text[behind] === '`') behind++;
      if (behind - end === run.length) return end;
      end = this.#text.indexOf(run, behind);
    }
    return -1;
  }

  #codeOf(text: string, end: number): void {
    const code = document.createElement('code');
    const line = text.replaceAll('\n', ' ');
    // A space on both sides keeps a backtick apart from the marks.
    code.textContent = line.startsWith(' ') && line.endsWith(' ') && line.trim() !== '' ? line.slice(1, -1) : line;
    this.#push(code);
    this.#at = end;
  }

  #emphasis(char: string): void {
    const start = this.#at;
    while (this.#text[this.#at] === char) this.#at++;
    const length = this.#at - start;
    const [before, behind] = [this.#text[start - 1] ?? ' ', this.#text[this.#at] ?? ' '];
    const word = /[\p{L}\p{N}]/u;
    const inWord = char === '_' && word.test(before) && word.test(behind);
    const canOpen = !/\s/.test(behind) && !inWord && (word.test(behind) || !word.test(before));
    const canClose = !/\s/.test(before) && !inWord && (word.test(before) || !word.test(behind));
    if (length > 3 || (char === '~' && length !== 2)) {
      this.#plain += this.#text.slice(start, this.#at);
      return;
    }
    // Three are two and one, the one inside.
    const marks = length === 3 ? [char, char + char] : [char.repeat(length)];
    this.#flush();
    const left = canClose ? marks.filter((mark) => !this.#close(mark)) : marks;
    for (const mark of left.toReversed()) this.#push({ mark, canOpen });
  }

  /** Wraps what stands behind the nearest mark of the kind; returns whether there is one. */
  #close(mark: string): boolean {
    const pieces = this.#pieces;
    const least = Math.max(0, pieces.length - lookBack, (this.#brackets.at(-1) ?? -1) + 1);
    for (let at = pieces.length - 2; at >= least; at--) {
      const piece = pieces[at]!;
      if (!('mark' in piece) || piece.mark !== mark || !piece.canOpen) continue;
      this.#wrap(at, mark);
      return true;
    }
    return false;
  }

  #wrap(at: number, mark: string): void {
    const element = document.createElement(tags[mark]!);
    element.append(...nodes(this.#pieces.splice(at).slice(1)));
    this.#pieces.push(element);
  }

  #closeAll(): void {
    for (let at = this.#pieces.length - 2; at >= Math.max(0, this.#pieces.length - lookBack); at--) {
      const piece = this.#pieces[at]!;
      if ('mark' in piece && piece.canOpen && piece.mark in tags) this.#wrap(at, piece.mark);
    }
  }

  #bracket(): void {
    this.#flush();
    if (this.#brackets.length >= lookBack) this.#brackets.shift();
    this.#brackets.push(this.#pieces.length);
    this.#pieces.push({ mark: '[', canOpen: false });
    this.#at++;
  }

  /** A bracket that closes before an address makes a link, an image as well; any other is text. */
  #closeBracket(): void {
    this.#at++;
    const opened = this.#brackets.pop();
    destination.lastIndex = this.#at;
    const found = opened === undefined ? null : destination.exec(this.#text);
    const url = found === null ? null : safeUrl(unescaped(found[1]!));
    if (opened === undefined || found === null || url === null) {
      this.#plain += ']';
      return;
    }
    this.#flush();
    this.#at = destination.lastIndex;
    const children = withoutLinks(nodes(this.#pieces.splice(opened).slice(1)));
    this.#pieces.push(
      ...link(
        url,
        children.some(({ textContent }) => textContent!.trim() !== '') ? children : [document.createTextNode(url.href)],
      ),
    );
    // A link has no link around it.
    this.#brackets = [];
  }

  #address(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found =
      /[\p{L}\p{N}]/u.test(this.#text[this.#at - 1] ?? '') && pattern === bare ? null : pattern.exec(this.#text);
    if (found === null) return false;
    const text = pattern === bare ? trimmed(found[0]) : found[1]!;
    const url = text.length > addressMax ? null : safeUrl(text);
    if (url === null) return false;
    this.#push(...link(url, [document.createTextNode(text)]));
    this.#at += pattern === bare ? text.length : found[0].length;
    return true;
  }
}

const unescaped = (text: string): string => text.replace(/\\([!-/:-@[-`{-~])/g, '$1');

/** An address within a sentence, without the sentence's punctuation. */
function trimmed(address: string): string {
  // Brackets that close more than were opened.
  let closing = address.split(')').length - address.split('(').length;
  let end = address.length;
  while (end > 0 && (address[end - 1] === ')' ? closing-- > 0 : '.,;:!?\'"]}*_~'.includes(address[end - 1]!))) end--;
  return address.slice(0, end);
}

/** The text of links that stand where another is made. */
const withoutLinks = (found: readonly Node[]): Node[] =>
  found.map((node) => {
    if (node instanceof Element && (node.matches('a') || node.querySelector('a') !== null))
      return document.createTextNode(node.textContent);
    return node;
  });

/** Marks that opened nothing stay as they were written. */
const nodes = (pieces: readonly Piece[]): Node[] =>
  pieces.map((piece) => ('mark' in piece ? document.createTextNode(piece.mark) : piece));
