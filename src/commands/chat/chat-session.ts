import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { givenText } from '../../body/body-flags.ts';
import { type Conversation, isEmptyConversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, type JsonSource, parseJsonSource } from '../../body/json-source.ts';
import { fileNamedBy } from '../../body/likely-mistakes.ts';
import { type Authorization, readAuthorization } from '../../client/connection.ts';
import { prepareRequest } from '../../client/request.ts';
import { appendToHistory, promptHistoryFile, pruneHistory, readRequestHistory } from '../../client/request-history.ts';
import { awaitClosedTerminal } from '../../config/credentials/prompt.ts';
import type { Context } from '../../context.ts';
import { type AppliedState, Failure, InterruptedError, toFailure, usageFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import { writeFileAtomically } from '../../files/file-replacement.ts';
import { MAX_INPUT_BYTES, readInputFile } from '../../files/read-input.ts';
import type { FlagValue } from '../../flag.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { firstStringMember, itemsOf, rawText, rootOf } from '../../json/json-node.ts';
import { escapeControlCharacters } from '../../output/escape-controls.ts';
import { createArgumentRedactor } from '../../output/redaction.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { ClosedPipeError, createStreamWriter, type Writer } from '../../output/writer.ts';
import { chatStats, formatChatStats } from '../../results/chat-stats.ts';
import { alignColumns } from '../../results/format-rows.ts';
import { createWordWrap } from '../../results/word-wrap.ts';
import { type RequestStart, readHooks } from '../operation/response-hooks.ts';
import { sendAndShow } from '../operation/send-and-show.ts';
import { buildChatBody } from './chat-body.ts';
import { type LineEditor, openLineEditor } from './line-editor.ts';

interface Turn {
  readonly prompt: string;
  readonly files: readonly string[];
  readonly before: JsonSource;
}

interface ChatSession {
  readonly start: RequestStart;
  readonly context: Context;
  readonly editor: LineEditor;
  /** Takes responses. It wraps their lines; `wrap` belongs to one turn. */
  readonly output: Writer;
  wrap: (text: string) => string;
  readonly given: Map<string, FlagValue>;
  /** Read before a prompt is typed for nothing; the first turn uses it. */
  authorization: Authorization | undefined;
  messages: JsonSource;
  saved: Conversation | undefined;
  /** The files that hold this conversation, which `/save` may replace. */
  ownFiles: string[];
  lastTurn: Turn | undefined;
  attached: string[];
  statsLine: string;
  attempts: number;
  /** `unknown` until a turn has a response. */
  applied: AppliedState;
}

/** Runs an interactive chat until the user ends it. A request that fails is reported, and the session continues. */
export async function runChatSession(start: RequestStart, conversation: Conversation | undefined, context: Context) {
  const { report, runtime, signal, stdout } = context;
  const authorization = await readAuthorization(start.settings, context);
  await report.note(sessionLine(start));
  await report.note('/help lists the commands; Ctrl-D ends the session');
  const closed = awaitClosedTerminal(runtime.stdin);
  const history = await openPromptHistory(start, context);
  const editor = openLineEditor(runtime, history.texts, (line) => completeLine(line, runtime.cwd));
  signal.addEventListener('abort', editor.close, { once: true });
  const session: ChatSession = {
    start,
    context,
    editor,
    output:
      runtime.env.TERM === 'dumb'
        ? stdout
        : createStreamWriter(runtime.stdout, 'stdout', stdout.hasColor, (text) => session.wrap(text)),
    wrap: String,
    given: new Map(start.input.given),
    authorization,
    messages: conversation?.source ?? parseMessages('[]'),
    saved: conversation,
    ownFiles: conversation ? [resolve(runtime.cwd, givenText(start.input.given, 'conversation') ?? '')] : [],
    lastTurn: undefined,
    attached: [],
    statsLine: 'there is no response yet',
    attempts: 0,
    applied: 'no',
  };
  try {
    for (;;) {
      const line = await Promise.race([closed, editor.read()]).catch((reason: InterruptedError) => {
        throw interruptionFailure(reason, session);
      });
      if (signal.aborted) throw interruptionFailure(signal.reason, session);
      if (line === undefined || /^\/(exit|quit)\s*$/.test(line)) break;
      await history.add(line);
      await handleLine(line, session).catch((error: unknown) => {
        if (signal.aborted || error instanceof ClosedPipeError) throw error;
        return report.failure(toFailure(error));
      });
    }
    await stdout.write('\n');
  } finally {
    editor.close();
  }
}

function sessionLine({ settings, input }: RequestStart): string {
  const { destination, profile } = settings;
  const host = destination?.isLocal ? 'the local service' : (destination?.url.host ?? '');
  return `model ${modelOf(settings, input.given)}, ${host}, profile ${profile.name}`;
}

function modelOf(settings: RequestStart['settings'], given: ReadonlyMap<string, FlagValue>): string {
  return givenText(given, 'model') ?? (settings.isExact ? undefined : settings.defaults.model.text) ?? 'not set';
}

// At the prompt. The turns before it were sent, and each of them was reported.
function interruptionFailure(reason: InterruptedError, { attempts, applied }: ChatSession): unknown {
  if (attempts === 0) return reason;
  const message = `${reason.message}; no request was in flight`;
  return new Failure(reason.code, message, { attempts, applied, isBatch: true });
}

const MAX_PROMPTS = 1000;
const MAX_PROMPT_CHARS = 4000;

// The texts of earlier sessions, newest first; `add` keeps one that has no secret. Without the file, the session has its own texts.
async function openPromptHistory({ settings }: RequestStart, context: Context) {
  const { runtime, report } = context;
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
    await attempt(() => appendToHistory(path, record, context));
  };
  return { texts: ((isOpen && (await attempt(readTexts))) || []).reverse(), add };
}

async function handleLine(line: string, session: ChatSession): Promise<void> {
  const { messages: before, attached: files, context } = session;
  const [, slashed, marked = '', rest = ''] = /^(?:\/(\w+|\?)|[:.!](\w+)!?(?=\s|$))\s*([\s\S]*)$/.exec(line) ?? [];
  const meant = meantCommand(slashed ?? marked);
  const name = slashed ?? (meant && marked);
  if (name === undefined) {
    if (/^(?:exit|quit)\s*$/.test(line))
      throw usageFailure(
        `${line.trim()} was not sent`,
        'to end the chat, write /exit; to send the word, begin it with a space',
      );
    if (line.trim() !== '') await runTurn({ prompt: line, before, files }, session);
    return;
  }
  const command = slashed !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  const text = rest.trim();
  if (command && !(command.needs && text === '')) return command.run(text, session);
  const problem = command
    ? usageFailure(`/${name} needs ${command.needs}`)
    : usageFailure(
        `${line.slice(0, line.indexOf(name))}${name} is not a command`,
        `${meant ? `write /${meant}; ` : ''}to send the text as a prompt, begin it with a space`,
      );
  await context.report.failure(problem);
  await showHelp('', session);
}

interface SessionCommand {
  readonly argument?: string;
  readonly needs?: string;
  readonly effect: string;
  /** The names of the command in ollama, llm, aichat and vim. */
  readonly otherNames?: string;
  readonly run: (text: string, session: ChatSession) => Promise<void>;
}

const commands: { readonly [name: string]: SessionCommand } = {
  system: {
    argument: '[TEXT]',
    effect: 'sets the system message, or shows it',
    otherNames: 'prompt role persona',
    run: async (text, session) => {
      if (text === '') return showSystem(session);
      const file = fileNamedBy(text, session.context.runtime.cwd);
      const hint = `for the text of the file, paste it, or run: svc chat -s "$(cat ${file})"`;
      if (file) await session.context.report.warn(`${text} is set as it is; ${hint}`);
      return setFlag('system', text, 'the system message is set', session);
    },
  },
  model: {
    argument: '[NAME]',
    effect: 'selects the model, or shows it',
    otherNames: 'set load models use',
    run: (text, session) =>
      text === ''
        ? session.context.stdout.write(`${modelOf(session.start.settings, session.given)}\n`)
        : setFlag('model', text, `the model is ${text}`, session),
  },
  attach: {
    argument: 'FILE',
    needs: 'a file name',
    effect: 'attaches a file to the next prompt',
    otherNames: 'file image add upload',
    run: async (path, { attached, context: { runtime, report } }) => {
      if (!(await pathExists(resolve(runtime.cwd, path)))) throw new Failure('local_file', `${path} does not exist`);
      attached.push(path);
      await report.note(`${path} goes with the next prompt`);
    },
  },
  save: {
    argument: 'FILE',
    needs: 'a file name',
    effect: 'saves the conversation to a new file',
    otherNames: 'export write w',
    run: saveConversation,
  },
  clear: {
    effect: 'starts a new conversation',
    otherNames: 'new reset empty',
    run: (_, session) => {
      const { start, context } = session;
      const file = givenText(start.input.given, 'conversation');
      Object.assign(session, { messages: parseMessages('[]'), saved: undefined, ownFiles: [], lastTurn: undefined });
      const kept = file === undefined ? '' : `; ${file} keeps the earlier messages, and /save FILE saves the new ones`;
      return context.report.note(`started a new conversation${kept}`);
    },
  },
  retry: {
    effect: 'sends the last prompt again',
    otherNames: 'regenerate regen again',
    run: async (_, session) => {
      if (!session.lastTurn) throw usageFailure('there is no prompt to retry');
      await session.context.report.note('sending the last prompt again');
      await runTurn(session.lastTurn, session);
    },
  },
  stats: {
    effect: 'shows tokens and times of the last response',
    otherNames: 'usage tokens cost info',
    run: (_, { statsLine, context: { stdout } }) => stdout.write(`${statsLine}\n`),
  },
  help: { effect: 'shows these lines', otherNames: '? h commands', run: showHelp },
  exit: {
    effect: 'or Ctrl-D ends the session',
    otherNames: 'bye quit q qa wq x',
    run: async () => {
      throw usageFailure('/exit takes no text');
    },
  },
};

function meantCommand(name: string): string | undefined {
  const [found] =
    Object.entries(commands).find(([own, { otherNames = '' }]) => [own, ...otherNames.split(' ')].includes(name)) ?? [];
  return found;
}

function setFlag(name: string, value: string, note: string, { given, context }: ChatSession): Promise<void> {
  given.set(name, value);
  return context.report.note(note);
}

async function showHelp(_: string, { context }: ChatSession): Promise<void> {
  const rows = Object.entries(commands).map(([name, { argument, effect }]) => [
    `/${name}${argument ? ` ${argument}` : ''}`,
    effect,
  ]);
  await context.stdout.write(`${alignColumns(rows, context.stdout.columns)}
Tab completes commands and file names, and Ctrl-R searches earlier prompts
""" begins and ends text of several lines
`);
}

async function showSystem({ given, messages, context: { stdout } }: ChatSession): Promise<void> {
  const stored = Array.from(itemsOf(rootOf(messages.doc))).find(
    (message) => firstStringMember(message, 'role') === 'system',
  );
  const text = givenText(given, 'system') ?? firstStringMember(stored, 'content');
  await stdout.write(`${text ?? 'there is no system message'}\n`);
}

// Tab completes a command and the name of a file; in a prompt it is a tab.
async function completeLine(line: string, cwd: string): Promise<[string[], string]> {
  const [, command, path] = /^(\/\w*)$|^\/(?:attach|save)\s+(.*)$/.exec(line) ?? [];
  if (command !== undefined) {
    const words = Object.entries(commands).map(([name, { argument }]) => `/${name}${argument ? ' ' : ''}`);
    return [words.filter((word) => word.startsWith(command)), command];
  }
  if (path === undefined) return [[`${line}\t`], line];
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  const entries = await readdir(resolve(cwd, directory), { withFileTypes: true }).catch(() => []);
  const paths = entries.map((entry) => `${directory}${entry.name}${entry.isDirectory() ? '/' : ''}`);
  return [paths.filter((one) => one.startsWith(path) && escapeControlCharacters(one) === one), path];
}

// Ctrl-C stops the turn and not the session.
async function runTurn(turn: Turn, session: ChatSession): Promise<void> {
  const { signal, report } = session.context;
  const stop = new AbortController();
  session.editor.onInterrupt(() => stop.abort(new InterruptedError('SIGINT')));
  try {
    await sendTurn(turn, session, AbortSignal.any([signal, stop.signal]));
  } catch (error) {
    if (!stop.signal.aborted || signal.aborted || error instanceof ClosedPipeError) throw error;
    await report.note('stopped; the conversation is unchanged, and /retry sends the prompt again');
  }
}

// The response follows the messages before the turn, also in place of an earlier response.
async function sendTurn(turn: Turn, session: ChatSession, signal: AbortSignal): Promise<void> {
  const { start, context } = session;
  session.lastTurn = turn;
  session.attached = [];
  session.wrap = createWordWrap(context.runtime.stdout);
  const turnContext = { ...context, signal, stdout: session.output };
  const conversation: Conversation = {
    source: turn.before,
    save: async (body, completion) => {
      await session.saved?.save(body, completion);
      const messages = messagesAfterResponse(body, completion);
      if (messages !== undefined) session.messages = parseMessages(messages);
    },
    close: async () => {},
  };
  const given = new Map(session.given);
  if (turn.files.length > 0) given.set('attach', turn.files);
  const deadline = createDeadline(start.settings.timeoutMs, context.runtime);
  const turnStart = { ...start, deadline, input: { ...start.input, given } };
  const draft = await buildChatBody(turnStart, conversation, turnContext, turn.prompt);
  const hooks = await readHooks(turnStart, turnContext);
  const { authorization } = session;
  session.authorization = undefined;
  session.attempts += 1;
  if (session.applied === 'no') session.applied = 'unknown';
  const options = { ...turnStart, filter: undefined, conversation, authorization, hooks };
  const { timing, facts } = await sendAndShow(prepareRequest(start.settings, draft), options, turnContext);
  session.applied = 'yes';
  const stats = chatStats(timing, facts);
  const isAsked = start.options.stats === true || stats.prompt_tokens !== null || stats.completion_tokens !== null;
  session.statsLine = `${formatChatStats(stats)}${isAsked ? '' : '; to request it, start with svc chat --stats'}`;
}

function parseMessages(text: string): JsonSource {
  const source = parseJsonSource('the conversation', text);
  if (isIssue(source)) throw new Error(source.message);
  return source;
}

// A name that was mistyped, or that an earlier session used, must not destroy another file.
async function saveConversation(displayPath: string, { messages, ownFiles, context }: ChatSession): Promise<void> {
  const { report, runtime, signal } = context;
  const root = rootOf(messages.doc);
  const count = Array.from(itemsOf(root)).length;
  if (count === 0) return report.note('there is nothing to save yet');
  const path = resolve(runtime.cwd, displayPath);
  if (!ownFiles.includes(path) && (await pathExists(path))) {
    const bytes = await readInputFile(path, displayPath, { signal, maxBytes: MAX_INPUT_BYTES });
    if (!isEmptyConversation(bytes))
      throw new Failure('local_file', `${displayPath} already exists, and was not replaced`, {
        hint: 'choose another file name',
      });
  }
  ownFiles.push(path);
  await writeFileAtomically(path, displayPath, `${rawText(root)}\n`, 0o600);
  await report.note(`saved ${count} ${pluralize(count, 'message')} to ${displayPath}`);
}
