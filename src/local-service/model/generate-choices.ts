import type { ChosenTool } from './choose-tool.ts';
import type { ModelRequest } from './model-request.ts';
import { hashText, type Token, tokenizeText, wordAt } from './tokenizer.ts';

/** One choice of the built-in model. */
export interface GeneratedChoice {
  readonly tokens: readonly Token[];
  readonly reasoning: string | undefined;
  readonly toolCall: GeneratedToolCall | undefined;
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  /** The token id at which it stopped. */
  readonly stopTokenId: number | undefined;
  /** The text of the last message, which precedes the tokens if the body has `echo`. */
  readonly echoedText: string;
}

/** A call of a tool; its arguments are the tokens, joined. */
export interface GeneratedToolCall {
  readonly id: string;
  readonly name: string;
  readonly argumentTokens: readonly Token[];
}

// The default: long enough to watch it stream, short enough to read.
const DEFAULT_LENGTH_WORDS = 12;

/** The choices for a request, a function of the messages and the seed alone. */
export function generateChoices(request: ModelRequest): GeneratedChoice[] {
  // Prompts can be long: hash them once, not once per choice.
  const seedPrefix = `${request.seed}/${hashText(request.prompt)}`;
  const reasoning = request.hasReasoning ? reasoningLine(request) : undefined;
  const fixedTokens = request.fixedText === undefined ? undefined : tokenizeText(request.fixedText);
  const { tool } = request;
  return Array.from({ length: request.choiceCount }, (_, index) => {
    if (tool) return { ...toolChoice(tool, `${seedPrefix}/${index}`), reasoning };
    const tokens = fixedTokens ?? tokenizeText(composeText(request, `${seedPrefix}/${index}`));
    return {
      ...applyTokenLimit(tokens, request),
      toolCall: undefined,
      reasoning,
      echoedText: request.isEchoRequested && request.isLastFromAssistant ? request.lastMessageText : '',
    };
  });
}

function reasoningLine({ lastMessageText, seed }: ModelRequest): string {
  const words = tokenizeText(lastMessageText).length;
  return `The last message has ${words} ${words === 1 ? 'word' : 'words'}; the seed is ${seed}.`;
}

function toolChoice(tool: ChosenTool, seed: string): Omit<GeneratedChoice, 'reasoning'> {
  const id = `call_${[0, 1].map((part) => hashText(`${seed}/${part}`).toString(16).padStart(8, '0')).join('')}`;
  const toolCall = { id, name: tool.name, argumentTokens: tokenizeText(tool.arguments) };
  return { tokens: [], toolCall, finishReason: 'tool_calls', stopTokenId: undefined, echoedText: '' };
}

function applyTokenLimit(
  all: readonly Token[],
  request: ModelRequest,
): Pick<GeneratedChoice, 'tokens' | 'finishReason' | 'stopTokenId'> {
  const stopped = applyStops(all, request);
  const isTruncated = request.maxTokens !== undefined && stopped.tokens.length > request.maxTokens;
  return {
    tokens: isTruncated ? stopped.tokens.slice(0, request.maxTokens) : stopped.tokens,
    finishReason: isTruncated ? 'length' : 'stop',
    stopTokenId: isTruncated ? undefined : stopped.stopId,
  };
}

function composeText({ lastMessageText, minTokens, isContinuation }: ModelRequest, seed: string): string {
  const quoted = [...lastMessageText.replace(/\s+/g, ' ').trim()].slice(0, 60).join('');
  const opening = isContinuation ? '' : `svc-local, no real model, read: ${quoted}\nIt answers:`;
  const wordCount = Math.max(DEFAULT_LENGTH_WORDS, minTokens - tokenizeText(opening).length);
  const words = Array.from({ length: wordCount }, (_, position) => wordAt(seed, position));
  return `${opening} ${words.join(' ')}.`;
}

function applyStops(tokens: readonly Token[], request: ModelRequest): { tokens: Token[]; stopId: number | undefined } {
  const { stopStrings, stopTokenIds, minTokens, isStopKept } = request;
  let text = '';
  // Stops within the first min_tokens tokens are ignored.
  let unstoppableLength = 0;
  for (const [at, token] of tokens.entries()) {
    text += token.text;
    if (at < minTokens) {
      unstoppableLength = text.length;
      continue;
    }
    if (stopTokenIds.includes(token.id)) return { tokens: tokens.slice(0, isStopKept ? at + 1 : at), stopId: token.id };
    const found = stopStrings.map((stop) => ({
      stop,
      from: text.indexOf(stop, Math.max(0, unstoppableLength - stop.length + 1)),
    }));
    const [first] = found.filter(({ from }) => from !== -1).sort((left, right) => left.from - right.from);
    if (first)
      return {
        tokens: tokenizeText(text.slice(0, first.from + (isStopKept ? first.stop.length : 0))),
        stopId: undefined,
      };
  }
  return { tokens: [...tokens], stopId: undefined };
}
