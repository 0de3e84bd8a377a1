/** A table of rows that lead somewhere. Its rows are a grid in groups, of which the browser draws only those in sight. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ListOf } from '../data.ts';
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
}

const groupSize = 100;

export function Rows<Item extends { readonly id: string }>({ label, columns, list, empty }: Options<Item>) {
  const { items, failure, begun, loading, next } = list;
  if (!begun) return failure ? <Failure failure={failure} again={list.again} /> : <Wait />;
  if (items.length === 0) return <>{empty}</>;
  const groups = Array.from({ length: Math.ceil(items.length / groupSize) }, (_, index) => items.slice(index * groupSize, (index + 1) * groupSize));
  const tracks = { '--tracks': columns.map(({ width }) => width).join(' '), '--tracks-narrow': columns.filter(({ wide }) => !wide).map(({ width }) => width).join(' ') };
  const classOf = ({ numeric, wide }: Column<Item>) => [numeric && 'n', wide && 'wide'].filter(Boolean).join(' ') || undefined;
  return (
    <>
      <div class="rows" role="table" aria-label={label} aria-rowcount={next === null ? items.length + 1 : -1} style={tracks}>
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
          <div role="rowgroup" class="group" key={index} style={{ containIntrinsicSize: `auto ${group.length * 36}px` }}>
            {group.map((item) => (
              <div role="row" key={item.id}>
                {columns.map((column) => (
                  <span role="cell" key={column.name} class={classOf(column)}>
                    {column.cell(item)}
                  </span>
                ))}
              </div>
            ))}
          </div>
        ))}
      </div>
      <Failure failure={failure} again={list.more} />
      {next !== null && <More loading={loading} more={list.more} />}
    </>
  );
}

/** Reads on when the end of the list comes near; a button for who does not scroll. */
function More({ loading, more }: { loading: boolean; more: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(more);
  latest.current = more;
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && latest.current(), { rootMargin: '600px' });
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
