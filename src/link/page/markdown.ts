/**
 * A reply's Markdown as nodes. No text of a reply is ever read as HTML: elements come from these lines alone, and none loads anything.
 * Images become links. The list of elements and attributes is in test/link/markdown.test.ts.
 */
import { blocksOf, type Block } from './markdown/blocks.ts';
import { inline } from './markdown/inline.ts';

/** Shows a reply that grows: blocks that are finished stay as they are, with what somebody has selected in them. */
export class Markdown {
  readonly #into: Element;
  #shown: string[] = [];

  constructor(into: Element) {
    this.#into = into;
  }

  /** `open` while the text goes on. */
  show(text: string, open: boolean): void {
    const blocks = blocksOf(text);
    const last = blocks.length - 1;
    const keys = blocks.map((block, index) => JSON.stringify(block) + (open && index === last));
    const same = keys.findIndex((key, index) => key !== this.#shown[index]);
    const kept = same < 0 ? blocks.length : same;
    while (this.#into.childNodes.length > kept) this.#into.lastChild!.remove();
    this.#into.append(...blocks.slice(kept).map((block, index) => nodeOf(block, open && kept + index === last)));
    this.#shown = keys;
  }
}

/** A whole text. */
export function markdown(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  fragment.append(...blocksOf(text).map((block) => nodeOf(block, false)));
  return fragment;
}

function made<K extends keyof HTMLElementTagNameMap>(tag: K, children: readonly (Node | string)[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}

/** Each block finds its direction by its own first letter. */
function auto<E extends HTMLElement>(element: E): E {
  element.dir = 'auto';
  return element;
}

function nodeOf(block: Block, open: boolean): Node {
  switch (block.kind) {
    case 'paragraph':
      return auto(made('p', inline(block.text, open)));
    case 'heading':
      // The page's own name is the first heading.
      return auto(made(`h${Math.min(block.level + 1, 6)}` as 'h2', inline(block.text, open)));
    case 'code':
      return made('pre', [made('code', [block.text])]);
    case 'rule':
      return made('hr', []);
    case 'quote':
      return made('blockquote', within(block.blocks, open));
    case 'list':
      return list(block, open);
    case 'table':
      return table(block);
  }
}

const within = (blocks: readonly Block[], open: boolean): Node[] => blocks.map((inner, index) => nodeOf(inner, open && index === blocks.length - 1));

function list({ start, items }: Block & { kind: 'list' }, open: boolean): Node {
  const element = made(start === null ? 'ul' : 'ol', items.map((blocks, index) => auto(made('li', inItem(blocks, open && index === items.length - 1)))));
  if (start !== null && start !== 1) (element as HTMLOListElement).start = start;
  return element;
}

/** The text that an item begins with is no paragraph of its own. */
function inItem([first, ...more]: readonly Block[], open: boolean): Node[] {
  if (first?.kind !== 'paragraph') return within(first === undefined ? [] : [first, ...more], open);
  return [...inline(first.text, open && more.length === 0), ...within(more, open)];
}

function table({ ends, rows }: Block & { kind: 'table' }): Node {
  const [head = [], ...body] = rows;
  const row = (cells: readonly string[], tag: 'th' | 'td'): Node =>
    made('tr', head.map((_, index) => {
      const cell = auto(made(tag, inline(cells[index] ?? '')));
      if (ends[index] === 'right' || ends[index] === 'center') cell.className = ends[index];
      return cell;
    }));
  return made('table', [made('thead', [row(head, 'th')]), made('tbody', body.map((cells) => row(cells, 'td')))]);
}
