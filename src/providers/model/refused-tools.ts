/** The functions whose definitions a provider refuses, by the words of its refusal (contract 13). */
import { createHash } from 'node:crypto';
import type { ToolOffer } from '../model.ts';
import { bodyRepairs, repairs, repairsNamed } from './repairs.ts';

/** A place in the list of tools, as OpenAI, Anthropic, Gemini and validators of Python write it. */
const places = /\btools(?:\[|\.|["'],\s*)(\d{1,3})\b/g;
/** Gemini has all functions in one tool. */
const declarations = /\bfunction_?declarations(?:\[|\.)(\d{1,3})\b/gi;
const names = /\b(?:function|tool) ['"`]([\w-]{1,64})['"`]|\bfor tool ([\w-]{1,64})\b/g;

/** Returns the names of the functions that a refusal is about; `offered`: those of the request, in its order. */
export function functionsNamed(said: string, offered: readonly string[]): string[] {
  const numbers = [...said.matchAll(declarations)];
  const found = (numbers.length > 0 ? numbers : [...said.matchAll(places)]).map(([, place]) => offered[Number(place)]);
  // A name alone may be that of a call in the history.
  const isOfMessages = (repairsNamed(said) & ~bodyRepairs & ~repairs.noOpaque) !== 0;
  if (found.length === 0 && !isOfMessages && /\bschema\b|\bparameters\b/i.test(said)) found.push(...Array.from(said.matchAll(names), ([, one, other]) => one ?? other));
  return [...new Set(found.filter((name): name is string => name !== undefined && offered.includes(name)))];
}

/** The definition of a function, as a lesson names it: one that was changed is offered again. */
export const definitionOf = ({ name, description, parameters }: ToolOffer): string => createHash('sha256').update(JSON.stringify([name, description, parameters])).digest('base64url').slice(0, 22);
