import { buildBody } from '../body/build.ts';
import { type Conversation, openConversation } from '../body/conversation.ts';
import type { Draft } from '../body/draft.ts';
import { inputsOf } from '../body/inputs.ts';
import { choicesAsked, withStream } from '../body/streaming.ts';
import { noAddress } from '../call/destination.ts';
import type { Prepared } from '../call/prepared.ts';
import { requestHeaders } from '../call/request.ts';
import type { Invocation, Run } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { usage } from '../errors.ts';
import { isOn, textOf } from '../fields/flag.ts';
import { rootOf } from '../json/node.ts';
import type { Operation } from '../operations/operation.ts';
import type { Chosen } from '../profiles/resolve.ts';
import { type Call, callOf, settingsOf } from './call.ts';
import type { Options } from './options.ts';
import { send } from './send.ts';
import { usualFormat } from './show-answer.ts';
import { showRequest } from './show-request.ts';
import type { Training } from './training/job.ts';
import { refuseOrWarn } from './verdict.ts';
import { refuseBatchFlags } from './without-batch.ts';

/** Runs any of the operations: makes the body, checks it, and sends it or shows what would be sent. */
export function runOperation(operation: Operation): Run {
  return async (invocation, context) => {
    const { runtime } = context;
    if (invocation.flags.has('batch')) {
      const { runBatch } = await import('./batch.ts');
      return await runBatch(operation, invocation, context);
    }
    refuseBatchFlags(invocation.flags);
    const call = await callOf(operation, invocation.flags, runtime);
    const { options, chosen, destination } = call;
    const file = textOf(invocation.flags, 'conversation');
    const conversation = file === undefined ? undefined : await openConversation(file, runtime);
    let training: Training | undefined;
    try {
      training = await trainingOf(operation, invocation, call, context);
      const draft =
        training?.draft ?? (await checkedBody(operation, invocation, options, chosen, conversation, context));
      const headers = requestHeaders(destination.profileHeaders, options.headers, operation.streams === true);
      const { url, isLocal } = destination;
      const prepared: Prepared = { operation, url, headers, draft, body: training?.body ?? draft.doc.bytes, isLocal };
      if (options.show) return await showRequest(prepared, options, chosen, context);
      if (!url) throw noAddress();
      // What can be given away once only cannot be sent again.
      const retries = training?.isOnce ? 0 : call.retries;
      await send({ ...call, retries, prepared, url, conversation, watch: training?.watch }, context);
    } finally {
      await training?.close();
      await conversation?.close();
    }
  };
}

// A body of trajectories may be larger than memory.
async function trainingOf(
  operation: Operation,
  { args, flags }: Invocation,
  { options, chosen, destination }: Call,
  context: Context,
): Promise<Training | undefined> {
  if (typeof operation.arguments?.as !== 'object') return undefined;
  const [{ prepareTraining }, { jobGuard }] = await Promise.all([
    import('./training/prepare.ts'),
    import('./training/guard.ts'),
  ]);
  const given = { operation, args, flags, stdinIsTerminal: context.runtime.stdin.isTTY === true };
  const guard = jobGuard(destination, isOn(flags, 'allow-duplicate') === true, context);
  const build = { settings: settingsOf(options, chosen, context.runtime.env), conversation: undefined };
  return prepareTraining({ given, build, strictness: options, isShown: options.show !== undefined, guard }, context);
}

async function checkedBody(
  operation: Operation,
  { args, flags }: Invocation,
  options: Options,
  chosen: Chosen,
  conversation: Conversation | undefined,
  context: Context,
): Promise<Draft> {
  const { runtime, report, stdout, signal } = context;
  const tools = { inputs: inputsOf(runtime, signal, report.note), now: runtime.now, randomBytes: runtime.randomBytes };
  const given = { operation, args, flags, stdinIsTerminal: runtime.stdin.isTTY === true };
  const settings = settingsOf(options, chosen, runtime.env);
  const built = await buildBody(given, { settings, conversation: conversation?.source }, tools);
  const shown = shownAs(operation, options, stdout.isTerminal);
  const draft = shown && !options.exact ? withStream(built.draft, operation, shown) : built.draft;
  await refuseOrWarn(draft, operation, built.unreadable, options, report);
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
