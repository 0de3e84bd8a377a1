/**
 * The shape of a request: what endpoints disagree on. A shape is the set of what is left out or said otherwise than at first, as
 * bits; among as many of them, a lower one is tried first.
 */
export const omits = {
  /** No question for token counts: Mistral, among others, refuses the option. */
  usage: 1,
  /** Reasoning models refuse `max_tokens`, older servers do not know `max_completion_tokens`. */
  otherBound: 2,
  /** No answer stands first: the templates of many models want the user to begin. */
  greeting: 4,
  temperature: 8,
  /** No bound on the reply. */
  bound: 16,
  /** The system prompt is part of the user's first message: some models know no such role. */
  system: 32,
  /** The tools of the history's calls are declared, though none may be called: gateways to Anthropic and Bedrock refuse calls without them. */
  otherTools: 64,
} as const;

/** The roles that templates refuse. */
const ofTemplates = omits.greeting | omits.system;
const bounds = omits.otherBound | omits.bound;
const boundOf = (shape: number): number => shape & bounds;

/** Looks for a shape that an endpoint takes, in few tries. */
export class ShapeSearch {
  shape: number;
  /** The parts that may be omitted. */
  readonly #open: number;
  readonly #refused: number[] = [];
  /** Omissions and bounds that refusals have named. */
  #named = 0;
  readonly #refusedBounds: number[] = [];

  constructor(open: number, first: number) {
    this.#open = open;
    this.shape = first & open;
  }

  /** Whether the words are those of a template that another shape suits: servers that run one may say so with a 500, or within a 200. */
  isNamed(said: string): boolean {
    return (omissionsNamed(said) & ofTemplates & this.#open & ~this.shape) !== 0;
  }

  /** Moves on from a shape that was refused in these words; false if none is left. The last one to be tried omits most. */
  next(said: string, isLast: boolean): boolean {
    const named = omissionsNamed(said);
    this.#refused.push(this.shape);
    this.#named |= named & this.#open & ~bounds;
    if (boundOf(named) !== 0) this.#refusedBounds.push(boundOf(this.shape));
    const left = shapesOf(this.#open).filter((shape) => !this.#refused.some((refused) => impliesRefusal(refused, shape)));
    const likely = left.filter((shape) => (this.#named & ~shape) === 0 && !this.#refusedBounds.includes(boundOf(shape)));
    const shapes = likely.length > 0 ? likely : left;
    const found = isLast ? shapes.at(-1) : shapes[0];
    if (found !== undefined) this.shape = found;
    return found !== undefined;
  }
}

/** Returns every shape, the one with the fewest omissions first. */
function shapesOf(open: number): number[] {
  const shapes: number[] = [];
  for (let shape = 0; shape <= open; shape++) if ((shape & ~open) === 0 && boundOf(shape) !== bounds) shapes.push(shape);
  return shapes.sort((one, other) => omissionsIn(one) - omissionsIn(other) || one - other);
}

function omissionsIn(shape: number): number {
  let count = 0;
  for (let left = shape; left !== 0; left &= left - 1) count++;
  return count;
}

/** An endpoint that refuses a request refuses one with all of that and more. */
function impliesRefusal(refused: number, shape: number): boolean {
  const bound = boundOf(refused);
  return (bound === omits.bound || bound === boundOf(shape)) && (shape & ~bounds & ~refused) === 0;
}

const names: readonly (readonly [omission: number, words: RegExp])[] = [
  [omits.usage, /stream_options|include_usage/],
  [omits.temperature, /\btemperature\b/],
  [bounds, /\bmax_(?:completion_)?tokens\b/],
  [omits.greeting, /\balternat|\bmust (?:start|begin) with|\b(?:first|initial) (?:message|role|turn|content)\b/i],
  [omits.otherTools, /`?\btools=|\btoolConfig\b|\bdefine tools\b|\b(?:without|requires?|missing) (?:the )?`?tools\b/i],
  [
    omits.system,
    /\bsystem (?:role|message|prompt|instruction)s? (?:is |are )?not (?:supported|allowed|enabled)|\bonly user(?: and|,) assistant roles|\bdoes(?: not|n't) support (?:the )?system|\b(?:unsupported|unknown|invalid|unexpected) role\W{1,3}system|\bdeveloper instruction is not enabled/i,
  ],
];

/** The parts that a refusal names, as omissions: both of the bound for either of its fields. */
function omissionsNamed(said: string): number {
  const of = (text: string): number => names.reduce((all, [omission, words]) => (words.test(text) ? all | omission : all), 0);
  // Where a member says which parameter it is, the words around it may name others that are fine.
  const parameter = /"param"\s*:\s*"([^"]{1,64})"/.exec(said)?.[1];
  return (parameter === undefined ? 0 : of(parameter)) || of(said);
}
