import { buildBody } from '../body/build.ts';
import { checkerOf } from '../body/check.ts';
import { type Conversation, openConversation } from '../body/conversation.ts';
import type { Draft } from '../body/draft.ts';
import { inputsOf } from '../body/inputs.ts';
import { choicesAsked, withStream } from '../body/streaming.ts';
import { type Destination, destinationOf, noAddress } from '../call/destination.ts';
import type { Prepared } from '../call/prepared.ts';
import { requestHeaders } from '../call/request.ts';
import type { Invocation, Run } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { type Issue, usage } from '../errors.ts';
import { textOf } from '../fields/flag.ts';
import type { Way } from '../http/connection.ts';
import { rootOf } from '../json/node.ts';
import type { Operation } from '../operations/operation.ts';
import { type Chosen, chooseProfile } from '../profiles/resolve.ts';
import { wayTo } from '../profiles/way.ts';
import type { Runtime } from '../runtime.ts';
import { fillingOf, type Options, readOptions, retryLimit, timeLimit } from './options.ts';
import { send } from './send.ts';
import { usualFormat } from './show-answer.ts';
import { showRequest } from './show-request.ts';

/** Runs any of the operations: makes the body, checks it, and sends it or shows what would be sent. */
export function runOperation(operation: Operation): Run {
  return async (invocation, context) => {
    const { runtime } = context;
    const options = readOptions(operation, invocation.flags);
    const chosen = await chooseProfile(options.wanted, runtime);
    const destination = destinationOf(operation, options.wanted, chosen, runtime.env);
    const limit = timeLimit(invocation.flags, runtime.env, chosen.profile, operation);
    const retries = retryLimit(invocation.flags, runtime.env, chosen.profile);
    // Said before stdin is read; a dry run does not need an address.
    if (!destination.url && !options.show) throw noAddress();
    if (destination.isLocal && options.show === 'curl')
      throw usage('the embedded service has no address for curl', 'svc serve gives it one');
    const way = await wayOf(destination, options, chosen, runtime);
    const file = textOf(invocation.flags, 'conversation');
    const conversation = file === undefined ? undefined : await openConversation(file, runtime);
    try {
      const draft = await checkedBody(operation, invocation, options, chosen, conversation, context);
      const headers = requestHeaders(destination.profileHeaders, options.headers, operation.streams === true);
      const prepared: Prepared = { operation, url: destination.url, headers, draft, isLocal: destination.isLocal };
      if (options.show) return await showRequest(prepared, options, chosen, context);
      if (!destination.url) throw noAddress();
      await send({ prepared, url: destination.url, options, chosen, way, limit, retries, conversation }, context);
    } finally {
      await conversation?.close();
    }
  };
}

// Before the body is made: files come first, and a way that is not safe is told before stdin is read.
async function wayOf(
  { url, isLocal }: Destination,
  { files, show }: Options,
  { profile }: Chosen,
  runtime: Runtime,
): Promise<Way | undefined> {
  return isLocal || show || !url ? undefined : wayTo(url, files, profile, runtime);
}

async function checkedBody(
  operation: Operation,
  { args, flags }: Invocation,
  options: Options,
  chosen: Chosen,
  conversation: Conversation | undefined,
  { runtime, report, stdout, signal }: Context,
): Promise<Draft> {
  const tools = { inputs: inputsOf(runtime, signal, report.note), now: runtime.now, randomBytes: runtime.randomBytes };
  const given = { operation, args, flags, stdinIsTerminal: runtime.stdin.isTTY === true };
  const settings = {
    project: fillingOf('project_id', chosen, runtime.env),
    model: fillingOf('model', chosen, runtime.env),
  };
  const built = await buildBody(
    given,
    { settings: options.exact ? undefined : settings, conversation: conversation?.source },
    tools,
  );
  const shown = shownAs(operation, options, stdout.isTerminal);
  const draft = shown && !options.exact ? withStream(built.draft, operation, shown) : built.draft;
  const check = await checkerOf(operation, options);
  const { warnings, failure } = check(draft, built.unreadable);
  for (const warning of warnings) await report.warn(lineOf(warning));
  if (failure) throw failure;
  if (conversation && choicesAsked(rootOf(draft.doc)) > 1)
    throw usage('a conversation goes on with one reply, and the body asks for several', 'leave out n');
  return draft;
}

function shownAs(
  operation: Operation,
  { format, output }: Options,
  stdoutIsTerminal: boolean,
): 'live' | 'chunks' | undefined {
  if (format === 'jsonl') return 'chunks';
  const isTerminal = stdoutIsTerminal && (output === undefined || output === '-');
  return isTerminal && (format ?? usualFormat(operation, isTerminal)) === 'text' ? 'live' : undefined;
}

function lineOf({ at, path, message }: Issue): string {
  return `${[at, path].filter((part) => part !== '').join(' ')}: ${message}`;
}
