import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isEmptyConversation } from '../../body/chat/conversation.ts';
import {
  appendToHistory,
  promptHistoryFile,
  pruneHistory,
  readRequestHistory,
} from '../../client/history/request-history.ts';
import type { Context } from '../../context.ts';
import { Failure, InterruptedError, toFailure, usageFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import { writeFileAtomically } from '../../files/file-replacement.ts';
import { MAX_INPUT_BYTES, readInputFile } from '../../files/read-input.ts';
import { getStringFlag } from '../../flag.ts';
import { firstStringMember, itemsOf, kindOf, rawText } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { pluralize } from '../../json/pluralize.ts';
import { awaitClosedTerminal } from '../../output/closed-terminal.ts';
import { escapeControlCharacters } from '../../output/escape-controls.ts';
import { createArgumentRedactor } from '../../output/redaction.ts';
import { ClosedPipeError } from '../../output/writer.ts';
import { type ChatStart, type ChatTurns, createChatTurns } from './chat-turns.ts';
import { type LineEditor, openLineEditor } from './line-editor.ts';

/** The state that the commands of a user act on. */
interface ChatSession {
  readonly turns: ChatTurns;
  /** The file of `--conversation`. */
  readonly file: string | undefined;
  readonly editor: LineEditor;
  readonly context: Context;
}

/** Runs an interactive chat until the user ends it. A request that fails is reported, and the session continues. */
export async function runChatSession(start: ChatStart, context: Context): Promise<void> {
  const { report, runtime, signal, stdout } = context;
  const turns = await createChatTurns(start, context);
  const file = getStringFlag(start.flags, 'conversation');
  await report.note('/help lists the commands; Ctrl-D ends the session');
  const closed = awaitClosedTerminal(runtime.stdin);
  const history = await openPromptHistory(start, context);
  const complete = (line: string) => completeLine(line, runtime.cwd);
  const editor = openLineEditor(runtime, { texts: history.texts, complete });
  signal.addEventListener('abort', editor.close, { once: true });
  try {
    for (;;) {
      const line = await Promise.race([closed, editor.read()]).catch((reason: InterruptedError) => {
        throw interruptionFailure(reason, turns);
      });
      if (signal.aborted) throw interruptionFailure(signal.reason, turns);
      if (line === undefined || /^\/(exit|quit)\s*$/.test(line)) break;
      await history.add(line);
      await handleLine(line, { turns, file, editor, context }).catch((error: unknown) => {
        if (signal.aborted || error instanceof ClosedPipeError) throw error;
        return report.failure(toFailure(error));
      });
    }
    await stdout.write('\n');
  } finally {
    editor.close();
  }
}

// At the prompt. The turns before it were sent, and each of them was reported.
function interruptionFailure(reason: InterruptedError, turns: ChatTurns): unknown {
  const facts = turns.facts();
  if (facts.attempts === 0) return reason;
  return new Failure(reason.code, `${reason.message}; no request was in flight`, { ...facts, isBatch: true });
}

const MAX_PROMPTS = 1000;
const MAX_PROMPT_CHARS = 4000;

// The texts of earlier sessions, newest first; `add` keeps one that has no secret. Without the file, the session has its own texts.
async function openPromptHistory({ settings }: ChatStart, { runtime, report }: Context) {
  const path = promptHistoryFile(runtime);
  const { redactText } = createArgumentRedactor(runtime.env, []);
  let lastText: string | undefined;
  let isOpen = settings.keepsPrompts;
  const attempt = <T>(action: () => Promise<T>): Promise<T | undefined> =>
    action().catch((error: unknown) => {
      isOpen = false;
      return report.warn(`prompts are not kept: ${toFailure(error).message}`).then(() => undefined);
    });
  const readTexts = async (): Promise<string[]> => {
    const records = await readRequestHistory(path);
    if (records.length > MAX_PROMPTS) await pruneHistory(path, { maxRecords: MAX_PROMPTS }, runtime);
    return records.slice(-MAX_PROMPTS).flatMap((record) => firstStringMember(record, 'text') ?? []);
  };
  const add = async (text: string): Promise<void> => {
    const hasSecret = report.redact(text) !== text || redactText(text) !== text;
    if (!isOpen || text.trim() === '' || text === lastText || text.length > MAX_PROMPT_CHARS || hasSecret) return;
    lastText = text;
    const record = { time: new Date(runtime.now()).toISOString(), text };
    await attempt(() => appendToHistory(path, record, report, runtime));
  };
  return { texts: ((isOpen && (await attempt(readTexts))) || []).reverse(), add };
}

// The commands of a session, with their arguments.
const commands: readonly (readonly [name: string, argument: string, effect: string])[] = [
  ['system', 'TEXT', 'sets the system message'],
  ['model', 'NAME', 'selects the model'],
  ['attach', 'FILE', 'attaches a file to the next prompt'],
  ['save', 'FILE', 'saves the conversation'],
  ['clear', '', 'starts a new conversation'],
  ['retry', '', 'sends the last prompt again'],
  ['stats', '', 'shows tokens and times of the last response'],
  ['help', '', 'shows these lines'],
  ['exit', '', 'or Ctrl-D ends the session'],
];
const commandLines = commands.map(([name, argument, effect]) => `/${name} ${argument}${argument && ' '}${effect}\n`);
const commandHelp = `${commandLines.join('')}Tab completes commands and file names, and Ctrl-R searches earlier prompts
""" begins and ends text of several lines`;

// Tab completes a command and the name of a file; in a prompt it is a tab.
async function completeLine(line: string, cwd: string): Promise<[string[], string]> {
  const [, command, path] = /^(\/\w*)$|^\/(?:attach|save)\s+(.*)$/.exec(line) ?? [];
  if (command !== undefined) {
    const words = commands.map(([name, argument]) => `/${name}${argument && ' '}`);
    return [words.filter((word) => word.startsWith(command)), command];
  }
  if (path === undefined) return [[`${line}\t`], line];
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  const entries = await readdir(resolve(cwd, directory), { withFileTypes: true }).catch(() => []);
  const paths = entries.map((entry) => `${directory}${entry.name}${entry.isDirectory() ? '/' : ''}`);
  return [paths.filter((one) => one.startsWith(path) && escapeControlCharacters(one) === one), path];
}

async function handleLine(line: string, session: ChatSession): Promise<void> {
  const { turns, file, context } = session;
  const [, command, rest = ''] = /^\/(\w+)\s*([\s\S]*)$/.exec(line) ?? [];
  const text = rest.trim();
  if (command === undefined) {
    if (line.trim() !== '') await runTurn((signal) => turns.send(line, signal), session);
  } else if ((command === 'system' || command === 'model') && text !== '') {
    turns.set(command, text);
    await context.report.note(command === 'model' ? `the model is ${text}` : 'the system message is set');
  } else if (command === 'attach' && text !== '') {
    if (!(await pathExists(resolve(context.runtime.cwd, text))))
      throw new Failure('local_file', `${text} does not exist`);
    turns.attach(text);
    await context.report.note(`${text} goes with the next prompt`);
  } else if (command === 'save' && text !== '') await saveConversation(text, session);
  else if (command === 'clear') {
    turns.clear();
    const kept = file === undefined ? '' : `; ${file} keeps the earlier messages, and /save FILE saves the new ones`;
    await context.report.note(`started a new conversation${kept}`);
  } else if (command === 'retry' && turns.canRetry()) {
    await context.report.note('sending the last prompt again');
    await runTurn(turns.retry, session);
  } else if (command === 'stats') await context.stdout.write(`${turns.statsLine()}\n`);
  else {
    const problem = commandProblem(command);
    if (problem) await context.report.failure(problem);
    await context.stdout.write(`${commandHelp}\n`);
  }
}

// The reason why a command line only shows the help; undefined for `/help`.
function commandProblem(command: string): Failure | undefined {
  if (command === 'help') return undefined;
  if (command === 'system') return usageFailure('/system needs a text');
  if (command === 'model') return usageFailure('/model needs a name');
  if (command === 'save' || command === 'attach') return usageFailure(`/${command} needs a file name`);
  if (command === 'retry') return usageFailure('there is no prompt to retry');
  if (command === 'exit' || command === 'quit') return usageFailure(`/${command} takes no text`);
  return usageFailure(`/${command} is not a command`, 'to send the text as a prompt, begin it with a space');
}

// Ctrl-C stops the turn and not the session.
async function runTurn(
  send: (signal: AbortSignal) => Promise<void>,
  { editor, context: { signal, report } }: ChatSession,
): Promise<void> {
  const stop = new AbortController();
  editor.onInterrupt(() => stop.abort(new InterruptedError('SIGINT')));
  try {
    await send(AbortSignal.any([signal, stop.signal]));
  } catch (error) {
    if (!stop.signal.aborted || signal.aborted || error instanceof ClosedPipeError) throw error;
    await report.note('stopped; the conversation is unchanged, and /retry sends the prompt again');
  }
}

async function saveConversation(displayPath: string, { turns, context }: ChatSession): Promise<void> {
  const { report, runtime, signal } = context;
  const messages = turns.messages();
  const count = Array.from(itemsOf(messages)).length;
  if (count === 0) return report.note('there is nothing to save yet');
  const path = resolve(runtime.cwd, displayPath);
  await requireConversationOrNone(path, displayPath, signal);
  await writeFileAtomically(path, displayPath, `${rawText(messages)}\n`, 0o600);
  await report.note(`saved ${count} ${pluralize(count, 'message')} to ${displayPath}`);
}

// A name that was mistyped must not destroy another file.
async function requireConversationOrNone(path: string, displayPath: string, signal: AbortSignal): Promise<void> {
  if (!(await pathExists(path))) return;
  const bytes = await readInputFile(path, displayPath, { signal, maxBytes: MAX_INPUT_BYTES });
  const root = tryParseJson(bytes);
  if (isEmptyConversation(bytes) || (root && kindOf(root) === 'list')) return;
  throw new Failure('local_file', `${displayPath} is not a saved conversation, and was not replaced`, {
    hint: 'choose another file name',
  });
}
