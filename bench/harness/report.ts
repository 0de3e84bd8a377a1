/** The result as one page of HTML that needs nothing beside it: goals, plots and tables. */
import * as echarts from 'echarts';
import type { Figure, Question } from './question.ts';
import type { Result } from './result.ts';
import { spreadOf, type Row } from './statistics.ts';
import { absencesOf, markTold, medianTold, rulerTold, shown, verdict, type QuestionTold } from './table.ts';

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character]!);

const plotWidth = 860;
const barHeight = 22;
const marginHeight = 96;

/** A bar for each contender and case: the median; how far the rounds lie apart is in the table below. */
function plotOf(question: Question, figure: Figure, rows: readonly Row[]): string {
  const drawn = rows.filter((row) => row.figure === figure.name);
  const cases = [...new Set(drawn.map((row) => row.case))];
  const contenders = [...new Set(drawn.map((row) => row.contender))].toReversed();
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: plotWidth,
    height: marginHeight + barHeight * contenders.length * cases.length,
  });
  const found = (contender: string, name: string): Row | undefined =>
    drawn.find((row) => row.contender === contender && row.case === name);
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    title: {
      text: `${question.title}: ${figure.name}${figure.unit === '' ? '' : ` (${figure.unit})`}`,
      textStyle: { fontSize: 14 },
    },
    legend: cases.length > 1 ? { data: cases, right: 0, top: 24 } : undefined,
    grid: { left: 150, right: 70, top: 52, bottom: 24 },
    xAxis: { type: 'value' },
    yAxis: { type: 'category', data: contenders },
    series: cases.map((name) => ({
      name,
      type: 'bar',
      data: contenders.map((contender) => {
        const row = found(contender, name);
        return row === undefined ? null : spreadOf(row.samples).median;
      }),
      label: {
        show: true,
        position: 'right',
        fontSize: 11,
        formatter: ({ value }: { value: unknown }) => (typeof value === 'number' ? shown(value) : ''),
      },
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

const cells = (tag: 'td' | 'th', values: readonly string[]): string =>
  `<tr>${values.map((value) => `<${tag}>${escaped(value)}</${tag}>`).join('')}</tr>`;
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><thead>${cells('th', head)}</thead><tbody>${rows.map((row) => cells('td', row)).join('')}</tbody></table>`;

function sectionOf({ question, answer, judged }: QuestionTold): string {
  const goals = judged.map((one) => {
    const { value, range, word } = verdict(one);
    return [one.goal.text, value, range, word];
  });
  const rows = answer.rows.map((row) => {
    const { least, most } = spreadOf(row.samples);
    return [
      row.case,
      row.figure,
      row.contender,
      `${medianTold(answer.rows, row)} ${row.unit}`.trim(),
      `${shown(least)} – ${shown(most)}`,
    ];
  });
  const plots = question.figures
    .filter(({ name }) => answer.rows.some((row) => row.figure === name))
    .map((figure) => `<figure>${plotOf(question, figure, answer.rows)}</figure>`);
  const absent = absencesOf(answer.absent).map((line) => `<p>${escaped(line)}</p>`);
  const all = `<details><summary>All figures</summary>${tableOf(['case', 'figure', 'contender', 'median', 'of the rounds'], rows)}</details>`;
  const goalTable = goals.length === 0 ? '' : tableOf(['goal', 'median', 'of the rounds', ''], goals);
  return `<section><h2>${escaped(question.title)}</h2><p>${escaped(question.method)}</p>${goalTable}${plots.join('')}${all}${absent.join('')}</section>`;
}

const style = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 900px; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: 0.5rem 0 1rem } th, td { text-align: left; padding: 0.15rem 0.8rem 0.15rem 0; border-bottom: 1px solid #ddd }
figure { margin: 1rem 0; overflow-x: auto } section { margin-top: 3rem } summary { cursor: pointer }
`;

export function reportOf(result: Result, told: readonly QuestionTold[]): string {
  const { machine, startedAt, size, rounds } = result;
  const facts = [
    ['begun', startedAt],
    ['size', `${size}, ${rounds} rounds`],
    [
      'machine',
      `${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.kernel}, Node ${machine.node}`,
    ],
    ['ruler', rulerTold(result)],
    ['placement', machine.placement],
    ['load at the end', shown(machine.load)],
    [
      'versions',
      Object.entries(machine.versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', '),
    ],
  ];
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>parley: benchmarks</title><style>${style}</style>`;
  return `<!doctype html><html lang="en"><head>${head}</head><body><h1>parley: benchmarks</h1>${tableOf(['', ''], facts)}${told.map(sectionOf).join('')}<p>${markTold}</p></body></html>\n`;
}
