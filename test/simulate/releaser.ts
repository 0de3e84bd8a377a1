/** A person who edits drafts, and publishes, rolls out, rolls back and recalls versions (contract 20). */
import type { Random } from './random.ts';
import { ask } from './network.ts';
import { operatorToken, type World } from './world.ts';

interface Change {
  readonly method?: 'PATCH';
  readonly path: string;
  readonly body?: object;
}

/** Versions that an assistant may have in a run: a higher number is refused. */
const numbersMax = 6;

/** Milliseconds between changes that give a candidate time. */
const slowMs = 10_000;

const drawnHalt = (random: Random): object | null =>
  random.chance(0.7) ? { failed_percent: random.pick([1, 20, 50]), after_turns: random.between(10, 14) } : null;

/** Changes an assistant after the other, mostly the first. A change whose answer is lost is not repeated. */
export async function runReleaser(world: World, untilMs: number): Promise<void> {
  const { scheduler, seeds, hosts } = world;
  const { random } = scheduler;
  const tools = seeds.assistants[0]!.toolIds!;
  const everyMs = random.pick([50, 1000, slowMs]);
  let edits = 0;
  const edited = (): Change => {
    const number = ++edits;
    const body = {
      model: { system_prompt: `prompt ${number}` },
      greeting: `greeting ${number}`,
      tool_ids: tools.filter(() => random.chance(0.7)),
    };
    return { method: 'PATCH', path: '', body };
  };
  const drawn = (): readonly Change[] => {
    const number = random.between(1, numbersMax);
    const rollout = (version: number | 'draft'): Change => ({
      path: '/rollout',
      body: { version, percent: random.pick([random.between(1, 99), 90, 99]), halt: drawnHalt(random) },
    });
    // Slow changes are mostly rollouts, so that candidates have the turns that may halt them.
    if (everyMs === slowMs && random.chance(0.7)) return [edited(), rollout('draft')];
    return random.pick<() => readonly Change[]>([
      () => [edited()],
      () => [edited(), { path: '/publish' }],
      () => [edited(), rollout('draft')],
      () => [rollout('draft')],
      () => [rollout(number)],
      () => [{ path: '/rollout/promote' }],
      () => [{ path: '/rollout/end' }],
      () => [{ path: '/rollback' }],
      () => [{ path: '/rollback', body: { version: number } }],
      () => [{ path: '/recall' }],
      () => [{ path: `/versions/${number}/restore` }],
      () => [{ method: 'PATCH', path: '', body: { session_policy: random.pick(['pin', 'follow']) } }],
    ])();
  };
  while (scheduler.now < untilMs) {
    await scheduler.sleep(random.delay(everyMs, 30_000));
    const id = random.chance(0.8) ? seeds.assistantIds[0]! : random.pick(seeds.assistantIds);
    for (const { method = 'POST', path, body } of drawn())
      await ask(world, { name: 'releaser', keyId: null }, random.pick(hosts), {
        method,
        path: `/console/api/workspaces/${seeds.workspaceId}/assistants/${id}${path}`,
        ...(body && { body }),
        headers: { authorization: `Bearer ${operatorToken}` },
      }).over;
  }
}
