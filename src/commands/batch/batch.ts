import { setMaxListeners } from 'node:events';
import { resolve } from 'node:path';
import { openBatchInput } from '../../batch/batch-input.ts';
import { readBatchOptions } from '../../batch/batch-options.ts';
import { checkBatch } from '../../batch/check-batch.ts';
import type { CheckpointPath } from '../../batch/compact-checkpoint.ts';
import { readLineDefaults } from '../../batch/line-defaults.ts';
import { createLineObservers } from '../../batch/line-observers.ts';
import { createRateLimiter } from '../../batch/rate-limiter.ts';
import { createOrderedSlots, createUnorderedSlots } from '../../batch/result-order.ts';
import { createStreamStore, openResultStore, rejectExistingResults } from '../../batch/result-store.ts';
import { runLines } from '../../batch/run-lines.ts';
import { createWarningLimiter } from '../../batch/warning-limiter.ts';
import { createAutofill } from '../../body/autofill.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { createInputReader } from '../../body/input-reader.ts';
import { stdinClaim } from '../../body/stdin-claim.ts';
import { authorizeRequest } from '../../client/authorize-request.ts';
import { resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { missingBaseUrl } from '../../client/destination.ts';
import { openTransport } from '../../client/open-transport.ts';
import { createRetryBudget } from '../../client/retry-budget.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { isReplaceable } from '../../files/file-replacement.ts';
import { linkAbort } from '../../http/link-abort.ts';
import { flagTarget } from '../../operations/flag-target.ts';
import type { Operation } from '../../operations/operation.ts';
import { openSink } from '../../output/sink.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { keepHeapSmall } from '../../train/stream/small-heap.ts';

/**
 * Runs an operation once for each line of a file. Throws usage for flags that do not fit, Failure `partial` where lines
 * failed, and what ended it early.
 */
export async function runBatch(operation: Operation, invocation: Invocation, context: Context): Promise<void> {
  keepHeapSmall();
  const { runtime, report, signal } = context;
  const { args, flags } = invocation;
  const callSettings = await resolveCallSettings(operation, flags, runtime);
  const { options, chosen, destination } = callSettings;
  const batchOptions = readBatchOptions(invocation, options);
  stdinClaim(operation, args, flags);
  const tools = {
    inputs: createInputReader(runtime, signal, report.note, callSettings.timeoutMs),
    now: runtime.now,
    randomBytes: runtime.randomBytes,
  };
  const defaults = await readLineDefaults(operation, flags, tools);
  const input = await openBatchInput(batchOptions.input, runtime, operation.largestBody);
  const newRunId = uuidV7(runtime.now(), runtime.randomBytes(10));
  const settings = await resolveAutofill(options, chosen, runtime);
  const check = await createBodyCheck(operation, options);
  const lineChecksFor = (runId: string) => ({
    draftOptions: { operation, defaults, settings, fill: createAutofill(flagTarget(operation)), run: runId, tools },
    label: input.label,
    check,
    onWarning: createWarningLimiter(report),
  });
  if (options.previewFormat)
    return await checkBatch(
      input,
      batchOptions,
      lineChecksFor(newRunId),
      chooseFormat('record', flags, context.stdout.isTerminal),
      context,
    );
  if (!destination.url) throw missingBaseUrl();
  const resultFile = await resolveResultFile(options.output, runtime.cwd);
  if (!resultFile && batchOptions.isResumed)
    throw usageFailure(
      `--resume goes on with a file of results, and ${options.output} is none`,
      'give another one with -o',
    );
  // Before anything is asked of anybody else; nothing is made before the credentials are there.
  if (resultFile && !batchOptions.isResumed) await rejectExistingResults(resultFile.path, resultFile.displayPath);
  const authorization = await authorizeRequest(operation, destination.url, callSettings, context);
  const resultStore = resultFile
    ? await openResultStore(
        resultFile.path,
        resultFile.displayPath,
        { operation, newRunId: newRunId, isResumed: batchOptions.isResumed },
        runtime,
      )
    : createStreamStore(newRunId, await openSink(options.output, context.stdout, runtime.cwd));
  const { controller: stopController } = linkAbort([signal]);
  setMaxListeners(0, stopController.signal);
  const observerFor = await createLineObservers(operation, destination, flags, input.label, context);
  const transport = await openTransport(callSettings.route, runtime, true);
  try {
    await runLines(input, batchOptions, {
      ...lineChecksFor(resultStore.runId),
      url: destination.url,
      destination,
      flagHeaders: options.headers,
      authorization,
      send: transport.send,
      rateLimiter: createRateLimiter(batchOptions.rateLimits, runtime, stopController.signal),
      stopController,
      retryBudget: createRetryBudget(),
      maxRetries: callSettings.maxRetries,
      timeoutMs: callSettings.timeoutMs,
      resultStore,
      observerFor,
      openSlot: batchOptions.isOrdered
        ? createOrderedSlots(resultStore.writeEntry)
        : createUnorderedSlots(resultStore.writeEntry),
      canRetryUnknown: batchOptions.canRetryUnknown,
      context,
    });
  } finally {
    await transport.close();
  }
}

// A file is the journal of the batch; what is no file, such as a pipe, takes the results and knows nothing of them later.
async function resolveResultFile(output: string | undefined, cwd: string): Promise<CheckpointPath | undefined> {
  if (output === undefined || output === '-') return undefined;
  const path = resolve(cwd, output);
  return (await isReplaceable(path)) ? { path, displayPath: output } : undefined;
}
