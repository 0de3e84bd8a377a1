/** The pages of charts, which bring the machines along, and the chart that stands beside a talk. */
export { ChartBeside as beside } from '../chart/actor-view.tsx';
export { default as actor } from './actor.tsx';
export { default as live } from './live.tsx';
