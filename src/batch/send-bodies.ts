import { createBodyInputs } from '../body/input-reader.ts';
import { readAuthorization } from '../client/connection.ts';
import type { Settings } from '../client/resolve-settings.ts';
import type { Context } from '../context.ts';
import { createDeadline } from '../http/time-limits.ts';
import { DEFAULT_BATCH_OPTIONS } from './batch-options.ts';
import { createLineChecks, NO_DEFAULTS } from './check/prepare-line.ts';
import { createMemoryInput } from './read/batch-input.ts';
import type { BatchPlan } from './send/run-line.ts';
import { type BatchEnd, sendBatch } from './send/run-lines.ts';
import { createStreamStore } from './store/result-store.ts';

/** Sends bodies from memory as they are, without defaults and checks, as a batch whose results go to `onResult` alone. */
export async function sendBodies(
  { label, bodies }: { readonly label: string; readonly bodies: readonly string[] },
  settings: Settings,
  maxOutageMs: number,
  onResult: BatchPlan['onResult'],
  context: Context,
): Promise<BatchEnd> {
  const { operation } = settings;
  const input = createMemoryInput(label, bodies, operation.maxBodyBytes);
  const tools = createBodyInputs(context, createDeadline(settings.timeoutMs, context.runtime));
  const unchanged = { ...settings, isExact: true, isStrict: false, isCheckDisabled: true };
  const given = { label, defaults: NO_DEFAULTS, tools, parent: undefined };
  const checks = await createLineChecks(unchanged, given, context);
  const store = createStreamStore({ run: checks.run, operation: operation.path, shard: '1/1' });
  const authorization = await readAuthorization(settings, context);
  const options = { ...DEFAULT_BATCH_OPTIONS, maxOutageMs };
  return sendBatch({ input, options, checks, onResult }, store, authorization, context);
}
