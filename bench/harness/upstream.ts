/** Starts the provider that every contender asks. */
import { built } from './built.ts';
import { Process } from './process.ts';

export async function startUpstream(): Promise<{ port: number; process: Process }> {
  const program = await built(new URL('../upstream.ts', import.meta.url));
  const upstream = new Process({ place: 'load', program: process.execPath, args: [program], node: true });
  const { port } = await upstream.told<{ port: number }>();
  return { port, process: upstream };
}
