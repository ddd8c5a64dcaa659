import { setMaxListeners } from 'node:events';
import { resolve } from 'node:path';
import { readDefaults } from '../batch/defaults.ts';
import { openInput } from '../batch/input.ts';
import { asFinished, inOrder } from '../batch/order.ts';
import { paceOf } from '../batch/pace.ts';
import { openResults, refuseExisting, streamResults } from '../batch/results.ts';
import type { Named } from '../batch/tidy.ts';
import { checkerOf } from '../body/check.ts';
import { filler } from '../body/fills.ts';
import { inputsOf } from '../body/inputs.ts';
import { stdinClaim } from '../body/stdin-claims.ts';
import { fullBudget } from '../call/budget.ts';
import { noAddress } from '../call/destination.ts';
import { requestHeaders } from '../call/request.ts';
import type { Invocation } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { usage } from '../errors.ts';
import { uuid7 } from '../fields/uuid.ts';
import { isReplaceable } from '../files/replacement.ts';
import { linkedTo } from '../http/linked.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';
import { openSink } from '../output/sink.ts';
import { keepHeapSmall } from '../trajectories/small-heap.ts';
import { authorize } from './authorize.ts';
import { checkBatch } from './batch/check.ts';
import { guardsOf } from './batch/guards.ts';
import { readBatchOptions } from './batch/options.ts';
import { runLines } from './batch/run-lines.ts';
import { someWarnings } from './batch/warnings.ts';
import { callOf, settingsOf } from './call.ts';
import { openLine } from './line.ts';

/**
 * Runs an operation once for each line of a file. Throws usage for flags that do not fit, Failure `partial` where lines
 * failed, and what ended it early.
 */
export async function runBatch(operation: Operation, invocation: Invocation, context: Context): Promise<void> {
  keepHeapSmall();
  const { runtime, report, signal } = context;
  const { args, flags } = invocation;
  const call = await callOf(operation, flags, runtime);
  const { options, chosen, destination } = call;
  const batch = readBatchOptions(invocation, options);
  stdinClaim(operation, args, flags);
  const tools = { inputs: inputsOf(runtime, signal, report.note), now: runtime.now, randomBytes: runtime.randomBytes };
  const defaults = await readDefaults(operation, flags, tools);
  const input = await openInput(batch.input, runtime, operation.largestBody);
  const run = uuid7(runtime.now(), runtime.randomBytes(10));
  const settings = settingsOf(options, chosen, runtime.env);
  const check = await checkerOf(operation, options);
  const checks = (runId: string) => ({
    recipe: { operation, defaults, settings, fill: filler(targetOf(operation)), run: runId, tools },
    label: input.label,
    check,
    warn: someWarnings(report),
  });
  if (options.show) return await checkBatch(input, batch, checks(run), context);
  if (!destination.url) throw noAddress();
  const file = await fileOf(options.output, runtime.cwd);
  if (!file && batch.isResumed)
    throw usage(`--resume goes on with a file of results, and ${options.output} is none`, 'give another one with -o');
  // Before anything is asked of anybody else; nothing is made before the credentials are there.
  if (file && !batch.isResumed) await refuseExisting(file.path, file.typed);
  const authorization = await authorize(operation, destination.url, call, context);
  const results = file
    ? await openResults(file.path, file.typed, { operation, newRun: run, isResumed: batch.isResumed }, runtime)
    : streamResults(run, await openSink(options.output, context.stdout, runtime.cwd));
  const headers = requestHeaders(destination.profileHeaders, options.headers, operation.streams === true);
  const { controller: quit } = linkedTo([signal]);
  setMaxListeners(0, quit.signal);
  const guards = await guardsOf(operation, destination, flags, input.label, context);
  const line = await openLine(call.way, context, true);
  try {
    await runLines(input, batch, {
      ...checks(results.run),
      url: destination.url,
      headers: authorization ? [...headers, ['Authorization', authorization.value.reveal()]] : headers,
      send: line.send,
      pace: paceOf(batch.speed, runtime, quit.signal),
      quit,
      budget: fullBudget(),
      retries: call.retries,
      limit: call.limit,
      results,
      guards,
      places: batch.isOrdered ? inOrder(results.write) : asFinished(results.write),
      isUnknownRepeated: batch.isUnknownRepeated,
      context,
    });
  } finally {
    await line.close();
  }
}

// A file is the journal of the batch; what is no file, such as a pipe, takes the results and knows nothing of them later.
async function fileOf(output: string | undefined, cwd: string): Promise<Named | undefined> {
  if (output === undefined || output === '-') return undefined;
  const path = resolve(cwd, output);
  return (await isReplaceable(path)) ? { path, typed: output } : undefined;
}
