/** A plot over time, drawn on a canvas; its values are in a table as well, which everybody can read. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { seconds } from '../clock.ts';
import { increments, labelOf, rangeOf } from './time-axis.ts';

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly tone: 'accent' | 'soft' | 'red';
}

interface Options {
  readonly name: string;
  /** Unix seconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** The steps that may lie between two labels of a value. */
  readonly steps?: readonly number[];
  readonly bars?: boolean;
  readonly height?: number;
  /** Says a value only while it is pointed at: the page has it elsewhere. */
  readonly quiet?: boolean;
}

/** The steps for counts, which have no halves. */
export const wholeSteps: readonly number[] = Array.from({ length: 12 }, (_, zeros) =>
  [1, 2, 5].map((digit) => digit * 10 ** zeros),
).flat();

const dark = matchMedia('(prefers-color-scheme: dark)');

/** The colours of the page as they are now, for a canvas knows no custom properties. */
function colours(element: HTMLElement): Record<string, string> {
  const probe = element.ownerDocument.createElement('span');
  element.append(probe);
  const found = Object.fromEntries(
    ['accent', 'accent-wash', 'soft', 'faint', 'red', 'line'].map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return found;
}

export function Plot({ name, times, lines, format, steps, bars = false, height = 140, quiet = false }: Options) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [read, setRead] = useState<number | null>(null);
  const shape = `${lines.map(({ label, tone }) => label + tone).join()} ${bars} ${height}`;
  const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const box = place.current!;
    let library: typeof uPlot | null = null;
    let left = false;
    const draw = () => {
      if (library === null || left) return;
      plot.current?.destroy();
      plot.current = new library(
        optionsOf(library, box, { lines, format, bars, height, ...(steps && { steps }) }, setRead),
        latest.current,
        box,
      );
    };
    // The table says the same without the plot.
    import('uplot').then(
      (module) => {
        library = module.default;
        draw();
      },
      () => {},
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height }));
    observer.observe(box);
    dark.addEventListener('change', draw);
    return () => {
      left = true;
      dark.removeEventListener('change', draw);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [times, ...lines.map(({ values }) => values)]);
  const at = read ?? times.length - 1;
  return (
    <figure class="plot">
      <figcaption>
        <strong>{name}</strong>
        {lines.map(({ label, values, tone }) => (
          <span key={label} class={tone}>
            {lines.length > 1 && label}{' '}
            {(!quiet || read !== null) && <b>{values[at] == null ? '–' : format(values[at])}</b>}
          </span>
        ))}
      </figcaption>
      <div ref={place} aria-hidden="true" style={{ height }} />
    </figure>
  );
}

type Shape = Pick<Options, 'lines' | 'format' | 'steps'> & { bars: boolean; height: number };

function optionsOf(
  library: typeof uPlot,
  box: HTMLElement,
  { lines, format, steps, bars, height }: Shape,
  read: (index: number | null) => void,
): uPlot.Options {
  const tones = colours(box);
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: tones['faint']!, font, grid: { stroke: tones['line']!, width: 1 }, ticks: { show: false } };
  return {
    width: box.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    // To the right, half of the last time.
    padding: [8, 28, 0, 0],
    // A bar stands to the right of its time, the last one too.
    scales: {
      x: { range: (plot) => rangeOf(plot.data[0], bars) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 64,
        incrs: [...increments],
        values: (_, splits, __, ___, step) => splits.map((at) => labelOf(at, step, seconds())),
      },
      { ...axis, size: 56, space: 36, ...(steps && { incrs: [...steps] }), values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...lines.map(({ label, tone }) => ({
        label,
        stroke: tones[tone]!,
        ...(bars ? barsOf(library, tones[tone]!) : lineOf(tones[tone]!)),
      })),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => read(idx ?? null)] },
  };
}

const barsOf = (library: typeof uPlot, fill: string) => ({
  paths: library.paths.bars!({ size: [0.7, 40], align: 1 }),
  fill,
  width: 0,
  points: { show: false },
});

const lineOf = (fill: string) => ({ width: 1.5, points: { show: false, filter: alone, size: 4, fill } });

/** Marks a value without a neighbour that a line could go to. */
function alone({ data }: uPlot, line: number): number[] {
  const values = data[line]!;
  return Array.from(values.keys()).filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}
