/** A plot over time, drawn on a canvas; what it shows stands in a table as well, which everybody can read. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';

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
  readonly bars?: boolean;
  readonly height?: number;
}

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

export function Plot({ name, times, lines, format, bars = false, height = 140 }: Options) {
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
      plot.current = new library(optionsOf(library, box, { lines, format, bars, height }, setRead), latest.current, box);
    };
    // Without it the table still says everything.
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
            {lines.length > 1 && label} <b>{values[at] == null ? '–' : format(values[at])}</b>
          </span>
        ))}
      </figcaption>
      <div ref={place} aria-hidden="true" style={{ height }} />
    </figure>
  );
}

type Shape = Pick<Options, 'lines' | 'format'> & { bars: boolean; height: number };

function optionsOf(library: typeof uPlot, box: HTMLElement, { lines, format, bars, height }: Shape, read: (index: number | null) => void): uPlot.Options {
  const tones = colours(box);
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: tones['faint']!, font, grid: { stroke: tones['line']!, width: 1 }, ticks: { show: false } };
  return {
    width: box.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    padding: [8, 4, 0, 0],
    // A bar stands to the right of its time, the last one too.
    scales: { x: { range: (plot, min, max) => [min, bars ? max + ((plot.data[0][1] ?? 1) - (plot.data[0][0] ?? 0)) : max] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, space: 64, values: (_, splits, __, ___, step) => splits.map((at) => labelOf(at, step)) },
      { ...axis, size: 56, space: 36, values: (_, splits) => splits.map(format) },
    ],
    series: [{}, ...lines.map(({ label, tone }) => ({ label, stroke: tones[tone]!, width: 1.5, points: { show: false }, ...(bars ? { paths: library.paths.bars!({ size: [0.7, 40], align: 1 }), fill: tones[tone]!, width: 0 } : {}) }))],
    hooks: { setCursor: [({ cursor: { idx } }) => read(idx ?? null)] },
  };
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** Hours within a day, days beyond it. */
const labelOf = (at: number, step: number): string => (step >= 86_400 ? day : clock).format(at * 1000);
