/**
 * A reply's Markdown as nodes. No text of a reply is ever read as HTML: elements come from these lines alone, and none loads anything.
 * Images become links. The list of elements and attributes is in test/pages/link/markdown.test.ts.
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
    this.#into.append(...blocks.slice(kept).map((block, index) => auto(nodeOf(block, open && kept + index === last))));
    this.#shown = keys;
  }
}

function makeElement<K extends keyof HTMLElementTagNameMap>(tag: K, children: readonly (Node | string)[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}

/** Each block finds its direction by its own first letter, and what is in it goes along: a list's numbers, a quote's line. */
function auto(element: HTMLElement): HTMLElement {
  element.dir = 'auto';
  return element;
}

function nodeOf(block: Block, open: boolean): HTMLElement {
  switch (block.kind) {
    case 'paragraph':
      return makeElement('p', inline(block.text, open));
    case 'heading':
      // The page's own name is the first heading.
      return makeElement(`h${Math.min(block.level + 1, 6)}` as 'h2', inline(block.text, open));
    case 'code':
      return makeElement('pre', [makeElement('code', [block.text])]);
    case 'rule':
      return makeElement('hr', []);
    case 'quote':
      return makeElement('blockquote', within(block.blocks, open));
    case 'list':
      return list(block, open);
    case 'table':
      return table(block);
  }
}

const within = (blocks: readonly Block[], open: boolean): Node[] => blocks.map((inner, index) => nodeOf(inner, open && index === blocks.length - 1));

function list({ start, items }: Block & { kind: 'list' }, open: boolean): HTMLElement {
  const element = makeElement(start === null ? 'ul' : 'ol', items.map((blocks, index) => makeElement('li', inItem(blocks, open && index === items.length - 1))));
  if (start !== null && start !== 1) (element as HTMLOListElement).start = start;
  return element;
}

/** The text that an item begins with is no paragraph of its own. */
function inItem([first, ...more]: readonly Block[], open: boolean): Node[] {
  if (first?.kind !== 'paragraph') return within(first === undefined ? [] : [first, ...more], open);
  return [...inline(first.text, open && more.length === 0), ...within(more, open)];
}

function table({ ends, rows }: Block & { kind: 'table' }): HTMLElement {
  const [head = [], ...body] = rows;
  const row = (cells: readonly string[], tag: 'th' | 'td'): Node =>
    makeElement('tr', head.map((_, index) => {
      const cell = makeElement(tag, inline(cells[index] ?? ''));
      if (ends[index] === 'right' || ends[index] === 'center') cell.className = ends[index];
      return cell;
    }));
  return makeElement('table', [makeElement('thead', [row(head, 'th')]), makeElement('tbody', body.map((cells) => row(cells, 'td')))]);
}
