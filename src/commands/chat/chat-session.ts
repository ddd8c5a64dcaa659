import { resolve } from 'node:path';
import { type Conversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, type JsonSource, parseJsonSource } from '../../body/json-source.ts';
import type { CallSettings } from '../../client/call-settings.ts';
import { missingBaseUrl } from '../../client/destination.ts';
import { prepareRequest } from '../../client/prepared-request.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, InterruptedError, toFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import { writeFileAtomically } from '../../files/file-replacement.ts';
import { MAX_INPUT_BYTES, readInputFile } from '../../files/read-input.ts';
import { type FlagValues, getArrayFlag } from '../../flag.ts';
import { itemsOf, kindOf, rawText, rootOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { ClosedPipeError } from '../../output/writer.ts';
import { chatStats, formatChatStats } from '../../results/chat-stats.ts';
import { buildCheckedBody, sendWithHooks } from '../operation/operation.ts';
import { openLineEditor } from './line-editor.ts';

const commandHelp =
  '/system TEXT sets the system message, /save FILE saves the conversation, /clear forgets it, /retry sends the last prompt again, /stats shows figures of the last response, /exit or Ctrl-D leaves; """ begins and ends a text of several lines';

// Why a line with a command does nothing but show the help; undefined for `/help`.
function commandProblem(name: string): string | undefined {
  if (name === 'help') return undefined;
  if (name === 'system') return '/system needs a text';
  if (name === 'save') return '/save needs a file name';
  return name === 'retry' ? 'there is no prompt to retry' : `/${name} is not a command`;
}

/** Talks with a model until the user leaves. A request that fails is reported, and the session continues. */
export async function runChatSession(
  operation: Operation,
  invocation: Invocation,
  callSettings: CallSettings,
  conversation: Conversation | undefined,
  context: Context,
): Promise<void> {
  const { runtime, report } = context;
  const { destination, options } = callSettings;
  const { url } = destination;
  if (!url) throw missingBaseUrl();
  const flags = new Map(invocation.flags);
  const noMessages = parseMessages('[]');
  let messages = conversation?.source ?? noMessages;
  let lastTurn: { readonly prompt: string; readonly before: JsonSource } | undefined;
  let statsLine = 'there is no response yet';

  // The conversation changes only with a response.
  const send = async (prompt: string, before: JsonSource, signal: AbortSignal): Promise<void> => {
    const turnContext = { ...context, signal };
    // As a message: a prompt of one dash would be stdin.
    const message = [...getArrayFlag(flags, 'message'), `user:${prompt}`];
    const turnFlags: FlagValues = new Map([...flags, ['message', message]]);
    const turn: Conversation = {
      source: before,
      save: async (body, completion) => {
        await conversation?.save(body, completion);
        messages = parseMessages(messagesAfterResponse(body, completion) ?? rawText(rootOf(messages.doc)));
      },
      close: async () => {},
    };
    const turnInvocation = { ...invocation, flags: turnFlags };
    const draft = await buildCheckedBody(operation, turnInvocation, callSettings, turn, turnContext);
    const prepared = prepareRequest(operation, draft, destination, options.headers);
    const request = { ...callSettings, prepared, url, conversation: turn, observer: undefined, filter: undefined };
    await sendWithHooks(request, flags, turnContext, (doc, timing) => {
      statsLine = formatChatStats(chatStats(rootOf(doc), timing));
    });
  };

  const runTurn = async (prompt: string, before = messages): Promise<void> => {
    const stop = new AbortController();
    editor.onInterrupt(() => stop.abort(new InterruptedError('SIGINT')));
    lastTurn = { prompt, before };
    try {
      await send(prompt, before, AbortSignal.any([context.signal, stop.signal]));
    } catch (error) {
      if (context.signal.aborted || error instanceof ClosedPipeError) throw error;
      if (stop.signal.aborted)
        await report.note('stopped; the conversation is unchanged, and /retry sends the prompt again');
      else await report.failure(toFailure(error));
    }
  };

  const runSlashCommand = async (name: string, text: string): Promise<void> => {
    if (name === 'system' && text !== '') {
      flags.set('system', text);
    } else if (name === 'save' && text !== '') {
      const count = Array.from(itemsOf(rootOf(messages.doc))).length;
      if (count === 0) return report.note('there is nothing to save yet');
      const path = resolve(runtime.cwd, text);
      await requireConversationOrNone(path, text, context.signal);
      await writeFileAtomically(path, text, `${rawText(rootOf(messages.doc))}\n`, 0o600);
      await report.note(`saved ${count} ${count === 1 ? 'message' : 'messages'} to ${text}`);
    } else if (name === 'clear') {
      messages = noMessages;
      lastTurn = undefined;
    } else if (name === 'retry' && lastTurn) {
      await runTurn(lastTurn.prompt, lastTurn.before);
    } else if (name === 'stats') {
      await report.line(statsLine);
    } else {
      const problem = commandProblem(name);
      if (problem) await report.note(problem);
      await report.line(commandHelp);
    }
  };

  await report.note('/help lists the commands; Ctrl-D leaves');
  const editor = openLineEditor(runtime);
  context.signal.addEventListener('abort', editor.close, { once: true });
  try {
    for (;;) {
      const text = await editor.read();
      context.signal.throwIfAborted();
      if (text === undefined || /^\/(exit|quit)\s*$/.test(text)) break;
      const [, name, rest = ''] = /^\/(\w+)\s*([\s\S]*)$/.exec(text) ?? [];
      if (name !== undefined)
        await runSlashCommand(name, rest.trim()).catch((error: unknown) => {
          if (context.signal.aborted || error instanceof ClosedPipeError) throw error;
          return report.failure(toFailure(error));
        });
      else if (text.trim() !== '') await runTurn(text);
    }
    await context.stdout.write('\n');
  } finally {
    editor.close();
  }
}

function parseMessages(text: string): JsonSource {
  const source = parseJsonSource('the conversation', text);
  if (isIssue(source)) throw new Error(source.message);
  return source;
}

// A name that was mistyped must not destroy another file.
async function requireConversationOrNone(path: string, displayPath: string, signal: AbortSignal): Promise<void> {
  if (!(await pathExists(path))) return;
  const root = tryParseJson(await readInputFile(path, displayPath, { signal, maxBytes: MAX_INPUT_BYTES }));
  if (root && kindOf(root) === 'list') return;
  throw new Failure('local', `${displayPath} is not a saved conversation, and was not replaced`, {
    hint: 'choose another file name',
  });
}
