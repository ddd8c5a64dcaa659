import { Buffer } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonDocument,
  type JsonNode,
  numberMember,
  rawText,
  rootOf,
} from '../json/json-node.ts';
import { choiceHeading, choicesByIndex, choiceText, ensureFinalNewline } from './chat-text.ts';
import type { StyledText } from './print-result.ts';

/**
 * The tokens of each choice of a chat completion, colored by probability, then one line per token with its alternatives.
 * Only the text if a choice has no log probabilities.
 */
export function logprobsView(doc: JsonDocument): StyledText[] {
  const choices = choicesByIndex(rootOf(doc));
  if (choices.length === 1) return choices.flatMap(choiceView);
  return choices.flatMap((choice, at) => [{ text: choiceHeading(at + 1) }, ...choiceView(choice)]);
}

function choiceView(choice: JsonNode): StyledText[] {
  const tokens = itemsAt(getMember(choice, 'logprobs'), 'content');
  if (tokens.length === 0) return [{ text: ensureFinalNewline(choiceText(getMember(choice, 'message'))) }];
  const decoder = new StringDecoder();
  const colored = tokens.map((token) => styleByProbability(decodeToken(token, decoder), probability(token)));
  return [...colored, { text: `${decoder.end()}\n\n` }, ...tokens.flatMap(tokenLine)];
}

// A character can be split between tokens; only their bytes can be joined (docs/servers.md).
function decodeToken(token: JsonNode, decoder: StringDecoder): string {
  const bytes = itemsAt(token, 'bytes').map((byte) => Number(rawText(byte)));
  return bytes.length > 0 ? decoder.write(Buffer.from(bytes)) : decoder.end() + tokenText(token);
}

function tokenLine(token: JsonNode): StyledText[] {
  const chosen = tokenText(token);
  const alternatives = itemsAt(token, 'top_logprobs').filter((other) => tokenText(other) !== chosen);
  const rest = alternatives.map((other) => `  ${JSON.stringify(tokenText(other))} ${percent(probability(other))}`);
  return [
    styleByProbability(`${percent(probability(token))} ${JSON.stringify(chosen)}`, probability(token)),
    { text: `${rest.join('')}\n` },
  ];
}

function styleByProbability(text: string, chance: number): StyledText {
  return { text, style: chance >= 0.9 ? undefined : chance >= 0.5 ? 'cyan' : chance >= 0.2 ? 'yellow' : 'red' };
}

function percent(chance: number): string {
  return `${(chance * 100).toFixed(1).padStart(5)} %`;
}

function probability(token: JsonNode): number {
  return Math.exp(numberMember(token, 'logprob') ?? Number.NEGATIVE_INFINITY);
}

function tokenText(token: JsonNode): string {
  return firstStringMember(token, 'token') ?? '';
}
