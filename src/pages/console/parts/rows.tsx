/** A table whose rows are links. Its rows are a grid in groups; the browser draws only the groups in sight. */
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { keyOf, type Listed, type ListOf } from '../data.ts';
import { Failure } from './failure.tsx';
import { Wait } from './wait.tsx';

export interface Column<Item> {
  readonly name: string;
  readonly cell: (item: Item) => ComponentChildren;
  /** Width, as a track of a grid. */
  readonly width: string;
  readonly numeric?: boolean;
  /** Left out on a phone. */
  readonly wide?: boolean;
}

interface Options<Item> {
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly list: ListOf<Item>;
  readonly empty: ComponentChildren;
  /**
   * The values that cells show beside their item. While they are the same, unchanged groups are not drawn again; only a
   * long list needs it.
   */
  readonly depends?: unknown;
}

const groupSize = 100;

export function Rows<Item extends Listed>({ label, columns, list, empty, depends = {} }: Options<Item>) {
  const { items, failure, begun, loading, next } = list;
  if (!begun) return failure ? <Failure failure={failure} again={list.again} /> : <Wait />;
  if (items.length === 0) return <>{empty}</>;
  const groups = Array.from({ length: Math.ceil(items.length / groupSize) }, (_, index) =>
    items.slice(index * groupSize, (index + 1) * groupSize),
  );
  const tracks = {
    '--tracks': columns.map(({ width }) => width).join(' '),
    '--tracks-narrow': columns
      .filter(({ wide }) => !wide)
      .map(({ width }) => width)
      .join(' '),
  };
  return (
    <>
      <div
        class="rows"
        role="table"
        aria-label={label}
        aria-rowcount={next === null ? items.length + 1 : -1}
        style={tracks}
      >
        <div role="rowgroup">
          <div role="row" class="names">
            {columns.map((column) => (
              <span role="columnheader" key={column.name} class={classOf(column)}>
                {column.name}
              </span>
            ))}
          </div>
        </div>
        {groups.map((group, index) => (
          <Group key={index} items={group} columns={columns} depends={depends} />
        ))}
      </div>
      <Failure failure={failure} again={list.more} />
      {next !== null && <More loading={loading} more={list.more} />}
    </>
  );
}

const classOf = ({ numeric, wide }: { numeric?: boolean; wide?: boolean }): string | undefined =>
  [numeric && 'n', wide && 'wide'].filter(Boolean).join(' ') || undefined;

interface GroupOptions<Item> {
  readonly items: readonly Item[];
  readonly columns: readonly Column<Item>[];
  readonly depends: unknown;
}

class Group<Item extends Listed> extends Component<GroupOptions<Item>> {
  override shouldComponentUpdate({ items, depends }: GroupOptions<Item>): boolean {
    const before = this.props;
    return (
      before.depends !== depends ||
      before.items.length !== items.length ||
      before.items.some((item, index) => item !== items[index])
    );
  }

  override render({ items, columns }: GroupOptions<Item>) {
    return (
      <div role="rowgroup" class="group" style={{ containIntrinsicSize: `auto ${items.length * 36}px` }}>
        {items.map((item) => (
          <div role="row" key={keyOf(item)}>
            {columns.map((column) => (
              <span role="cell" key={column.name} class={classOf(column)}>
                {column.cell(item)}
              </span>
            ))}
          </div>
        ))}
      </div>
    );
  }
}

/** Reads the next page when the end of the list comes near; has a button for people who do not scroll. */
export function More({ loading, more }: { loading: boolean; more: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(more);
  latest.current = more;
  useEffect(() => {
    const observer = new IntersectionObserver(
      (seen) => seen.some(({ isIntersecting }) => isIntersecting) && latest.current(),
      { rootMargin: '600px' },
    );
    observer.observe(button.current!);
    return () => observer.disconnect();
  }, [loading]);
  return (
    <p class="more">
      <button ref={button} type="button" class="quiet" onClick={more} disabled={loading}>
        {loading ? 'Loading …' : 'Show more'}
      </button>
    </p>
  );
}
