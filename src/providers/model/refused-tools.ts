/** The functions whose definitions a provider refuses, by the words of its refusal (contract 13). */
import { createHash } from 'node:crypto';
import { isObject, type Json } from '../../base/json.ts';
import type { ToolOffer } from '../model.ts';
import { bodyRepairs, repairs, repairsNamed } from './repairs.ts';

/** A place in the list of tools, as OpenAI, Anthropic, Bedrock, Gemini and validators of Python write it. */
const places = /\btools(?:\[|\.|["'],\s*)(\d{1,3})\b(\.member\b)?/g;
/** Gemini has all functions in one tool. */
const declarations = /\bfunction_?declarations(?:\[|\.)(\d{1,3})\b()/gi;
/** The quotes of a name, also within JSON; Vertex leaves them out. */
const quotedName =
  /\b(?:function|tool)(?: name)?:? \\?['"`]([\w-]{1,64})\\?['"`]|\bfor tool ([\w-]{1,64})\b|([\w-]{1,64})\\?['"`]? functionDeclaration\b/g;
const ofDefinitions = /schema|\bparameters\b|\bdefinition\b/i;
/**
 * Kimi names neither a function nor its place, but the path within its schema, and what is wrong there:
 * MoonshotAI/kimi-cli#1595, anomalyco/opencode#37496.
 */
const schemaPath = /\bAt path '([^'\n]{1,200})':\s*([^>"\n]{0,200})/;
const keywords = /\b(?:anyOf|oneOf|allOf|enum|const|items)\b|\$ref\b/g;

/** Returns the names of the functions that a refusal is about; `offered`: the names in the request, in its order. */
export function functionsNamed(errorText: string, offered: readonly ToolOffer[]): string[] {
  const numbers = [...errorText.matchAll(declarations)];
  // Services of AWS count from 1 where they say that it is a member.
  const names = (numbers.length > 0 ? numbers : [...errorText.matchAll(places)]).map(
    ([, place, member]) => offered[Number(place) - (member ? 1 : 0)]?.name,
  );
  // A name alone may belong to a tool call in the history.
  const isOfMessages = (repairsNamed(errorText) & ~bodyRepairs & ~repairs.noOpaque) !== 0;
  if (names.length > 0 || isOfMessages || !ofDefinitions.test(errorText)) return among(names, offered);
  const named = among(
    Array.from(errorText.matchAll(quotedName), ([, ...each]) => each.find((name) => name !== undefined)),
    offered,
  );
  const [, path, wrong] = schemaPath.exec(errorText) ?? [];
  return named.length > 0 || path === undefined ? named : atPath(path, wrong!, offered);
}

function among(names: readonly (string | undefined)[], offered: readonly ToolOffer[]): string[] {
  const offeredNames = new Set(offered.map(({ name }) => name));
  return [...new Set(names.filter((name): name is string => name !== undefined && offeredNames.has(name)))];
}

/** The functions whose schemas have something at a path, and there the keywords of the words. */
function atPath(path: string, wrong: string, offered: readonly ToolOffer[]): string[] {
  const wanted = wrong.match(keywords) ?? [];
  const lacksType = /\btype is not defined\b/.test(wrong);
  const parts = offered
    .map(({ name, parameters }) => ({ name, part: partAt(parameters, path) }))
    .filter(({ part }) => part !== undefined);
  const fitting = parts.filter(
    ({ part }) => isObject(part) && (lacksType ? !('type' in part) : wanted.some((keyword) => keyword in part)),
  );
  return (fitting.length > 0 ? fitting : parts).map(({ name }) => name);
}

const partAt = (schema: Json, path: string): unknown =>
  path === 'root'
    ? schema
    : path
        .split('.')
        .reduce<unknown>(
          (part, name) =>
            (isObject(part) || Array.isArray(part)) && Object.hasOwn(part, name) ? (part as Json)[name] : undefined,
          schema,
        );

/** The definition of a function, as a lesson names it: one that was changed is offered again. */
export const definitionOf = ({ name, description, parameters }: ToolOffer): string =>
  createHash('sha256')
    .update(JSON.stringify([name, description, parameters]))
    .digest('base64url')
    .slice(0, 22);
