import { batchFlags } from '../../batch/batch-options.ts';
import type { AutofillSettings } from '../../body/autofill.ts';
import { requireBodySource } from '../../body/body-base.ts';
import { buildBody } from '../../body/build-body.ts';
import type { Conversation } from '../../body/chat/conversation.ts';
import { requestedChoiceCount, withStreamEnabled } from '../../body/chat/streaming.ts';
import type { CommandInput } from '../../body/command-input.ts';
import type { Draft } from '../../body/draft.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { rejectReplacedInputs, stdinClaim } from '../../body/named-inputs.ts';
import { rejectInvalidFlags } from '../../body/reject-invalid-flags.ts';
import { type CallSettings, resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { missingBaseUrl } from '../../client/destination.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import { resolveHistoryMode } from '../../client/history/request-history.ts';
import { recordIds } from '../../client/idempotency.ts';
import type { OperationOptions } from '../../client/operation-options.ts';
import { prepareRequest } from '../../client/prepared-request.ts';
import type { Invocation, RunCommand } from '../../command.ts';
import type { SelectedProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { type FlagValues, isFlagOn } from '../../flag.ts';
import { createDeadline, type Deadline } from '../../http/deadline.ts';
import { getMember, rawText, rootOf } from '../../json/json-node.ts';
import type { Operation } from '../../operations/operation.ts';
import { defaultFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { createTraceContext, readParent, traceExports } from '../../trace/trace-context.ts';
import { openChosenConversation } from '../chat/chosen-conversation.ts';
import type { PreparedTraining } from '../train/prepare-training.ts';
import type { OpenResponseHooks } from './response-hooks.ts';
import { type SendOptions, type ShownResponse, sendAndShow } from './send-and-show.ts';
import { showRequest } from './show-request.ts';

/** Runs any operation: builds the body, checks it, and sends it or shows the request. */
export function runOperation(operation: Operation): RunCommand {
  return async (invocation, context) => {
    const { args, flags } = invocation;
    const { runtime } = context;
    rejectInvalidFlags(operation, flags, runtime.now());
    if (flags.has('batch')) {
      const { runBatch } = await import('../batch/batch.ts');
      return await runBatch(operation, invocation, context);
    }
    const batchFlag = batchFlags.find(({ name }) => flags.has(name));
    if (batchFlag) throw usageFailure(`--${batchFlag.name} works only with --batch`, 'write --batch <file>');
    const callSettings = await resolveCallSettings(operation, flags, context);
    const { options, chosen, destination } = callSettings;
    const deadline = createDeadline(callSettings.timeoutMs, runtime);
    const filter = await openResultFilter(flags, context);
    const isInteractive = isSession(operation, invocation, options, context);
    if (!isInteractive) requireBodySource(toCommandInput(operation, invocation, context));
    await rejectReplacedInputs(operation, args, flags, runtime.cwd);
    const openHooks = await readHooks(flags, chosen, deadline, context);
    const conversation = await openChosenConversation(flags, options.output, deadline, context);
    let training: PreparedTraining | undefined;
    try {
      if (isInteractive) {
        const { runChatSession } = await import('../chat/chat-session.ts');
        return await runChatSession({ operation, invocation, callSettings, conversation }, context);
      }
      const bodyRequest = { operation, invocation, callSettings, deadline };
      training = await openTraining(bodyRequest, context);
      const draft = training?.draft ?? (await buildCheckedBody(bodyRequest, conversation, context));
      const { url } = destination;
      const prepared = prepareRequest(operation, draft, destination, options.headers, training?.body);
      if (options.previewFormat) return await showRequest(prepared, options, chosen, context);
      if (!url) throw missingBaseUrl();
      // A body that can be read only once cannot be sent again.
      const maxRetries = training?.isSingleUse ? 0 : callSettings.maxRetries;
      const textOf = isFlagOn(flags, 'export')
        ? traceExports(runtime.env, recordIds(operation, rootOf(draft.doc)))
        : undefined;
      const { observer } = training ?? {};
      const request = { ...callSettings, deadline, maxRetries, prepared, url, conversation, observer, filter, textOf };
      await sendWithHooks(request, openHooks, context);
    } finally {
      await training?.close();
      await conversation?.close();
    }
  };
}

const expectFlags = ['expect-text', 'expect-not', 'expect-schema', 'expect-finish', 'expect-max-latency', 'junit'];

// Flags that give messages, or that are about one response.
const singleChatFlags = [
  ...expectFlags,
  'file',
  'messages',
  'message',
  'prefill',
  'attach',
  'set',
  'output',
  'extract',
  'logprobs-view',
];

function isSession(
  operation: Operation,
  { args, flags }: Invocation,
  options: OperationOptions,
  context: Context,
): boolean {
  const isAtTerminal = context.runtime.stdin.isTTY === true && context.stdout.isTerminal;
  const isTextOnly = !options.previewFormat && (options.format ?? 'text') === 'text';
  const isSingle = args.length > 0 || flags.get('stdin') === false;
  return (
    operation.arguments?.as === 'prompt' &&
    isAtTerminal &&
    isTextOnly &&
    !isSingle &&
    !singleChatFlags.some((name) => flags.has(name)) &&
    stdinClaim(operation, args, flags) === undefined
  );
}

const hookFlags = [...expectFlags, 'expect', 'update', 'view', 'extract', 'stats', 'logprobs-view'];

/** Sends a request and shows its response, with its hooks. Throws as sendAndShow does. */
export async function sendWithHooks(
  request: SendOptions,
  openHooks: OpenResponseHooks | undefined,
  context: Context,
): Promise<ShownResponse> {
  const hooks = await openHooks?.(request);
  const response = await sendAndShow(request, hooks, context).catch(async (error: unknown) => {
    await hooks?.onEnd(error);
    throw error;
  });
  await hooks?.onEnd(undefined);
  return response;
}

/** The hooks that flags and history need; nothing is loaded if they need none. Throws as readResponseHooks does. */
export async function readHooks(
  flags: FlagValues,
  selected: SelectedProfile,
  deadline: Deadline,
  context: Context,
): Promise<OpenResponseHooks | undefined> {
  const history = resolveHistoryMode({ flags, env: context.runtime.env, selected });
  if (history === 'off' && !hookFlags.some((name) => flags.has(name))) return undefined;
  const { readResponseHooks } = await import('./response-hooks.ts');
  return readResponseHooks(flags, history, deadline, context);
}

// Without a parent and --export, ids are UUIDs. The exported id of a call has the shape of TRACEPARENT in any trace.
async function readTrace(
  { continuesTrace }: Operation,
  flags: FlagValues,
  { runtime, report }: Context,
): Promise<Pick<AutofillSettings, 'trace' | 'callId'>> {
  if (!continuesTrace) return {};
  const parent = await readParent(flags, runtime.env, report);
  const isExported = isFlagOn(flags, 'export');
  if (!parent && !isExported) return {};
  const trace = createTraceContext(parent, runtime);
  return { trace, callId: isExported ? trace.callId : undefined };
}

function toCommandInput(operation: Operation, { args, flags }: Invocation, { runtime }: Context): CommandInput {
  return { operation, args, flags, isStdinTerminal: runtime.stdin.isTTY === true };
}

/** The inputs from which the body of a request is built. */
export interface BodyRequest {
  readonly operation: Operation;
  readonly invocation: Invocation;
  readonly callSettings: CallSettings;
  /** It began before input was read. */
  readonly deadline: Deadline;
}

// A body of trajectories may be larger than memory.
async function openTraining(
  { operation, invocation, callSettings: { options, chosen, destination }, deadline }: BodyRequest,
  context: Context,
): Promise<PreparedTraining | undefined> {
  if (typeof operation.arguments?.as !== 'object') return undefined;
  const [{ prepareTraining }, { createJobGuard }] = await Promise.all([
    import('../train/prepare-training.ts'),
    import('../train/job-guard.ts'),
  ]);
  const input = toCommandInput(operation, invocation, context);
  const guard = createJobGuard(destination, isFlagOn(invocation.flags, 'allow-duplicate'), context);
  const buildOptions = { settings: await resolveAutofill(options, chosen, context.runtime), conversation: undefined };
  return prepareTraining(
    { input, buildOptions, strictness: options, isPreview: options.previewFormat !== undefined, deadline, guard },
    context,
  );
}

/** The checked body of a command line. Throws what building and checking throw. */
export async function buildCheckedBody(
  { operation, invocation, callSettings: { options, chosen }, deadline }: BodyRequest,
  conversation: Conversation | undefined,
  context: Context,
): Promise<Draft> {
  const { flags } = invocation;
  const { runtime, report, stdout } = context;
  const input = toCommandInput(operation, invocation, context);
  const dependencies = createBodyDependencies(context, deadline);
  const autofill = await resolveAutofill(options, chosen, runtime);
  const settings = autofill && { ...autofill, ...(await readTrace(operation, flags, context)) };
  const buildResult = await buildBody(input, { settings, conversation: conversation?.source }, dependencies);
  const isWholeText = flags.has('extract') || flags.has('logprobs-view');
  const streamMode = isWholeText ? undefined : chooseStreamMode(operation, options, stdout.isTerminal);
  const draft =
    streamMode && !options.isExact
      ? withStreamEnabled(buildResult.draft, operation, streamMode, flags.has('stats'))
      : buildResult.draft;
  if (isFlagOn(flags, 'logprobs-view')) rejectDisabledLogprobs(draft);
  await enforceChecks(draft, operation, buildResult.inputIssues, options, report);
  if (conversation) rejectSeveralChoices(draft, flags);
  return draft;
}

function rejectDisabledLogprobs({ doc }: Draft): void {
  const logprobs = getMember(rootOf(doc), 'logprobs');
  if (logprobs && /^(?:false|null)$/.test(rawText(logprobs)))
    throw usageFailure(
      `--logprobs-view needs log probabilities, but the body has logprobs: ${rawText(logprobs)}`,
      'remove logprobs, or set it to true',
    );
}

function rejectSeveralChoices({ doc }: Draft, flags: FlagValues): void {
  if (requestedChoiceCount(rootOf(doc)) <= 1) return;
  const flag = ['conversation', 'continue'].find((name) => flags.has(name));
  const keeper = flag ? `--${flag}` : 'an interactive chat';
  throw usageFailure(`${keeper} keeps one response, but the body asks for several`, 'remove n, or set it to 1');
}

function chooseStreamMode(
  operation: Operation,
  { format, output }: OperationOptions,
  isStdoutTerminal: boolean,
): 'live' | 'chunks' | undefined {
  if (format === 'jsonl') return 'chunks';
  const isTerminal = isStdoutTerminal && (output === undefined || output === '-');
  return isTerminal && (format ?? defaultFormat(operation.result.as, isTerminal)) === 'text' ? 'live' : undefined;
}
