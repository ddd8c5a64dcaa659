import type { AutofillSettings } from '../body/autofill.ts';
import { routeTo } from '../config/route.ts';
import { type SelectedProfile, selectProfile } from '../config/select-profile.ts';
import { usageFailure } from '../errors.ts';
import type { FlagValues } from '../flag.ts';
import type { Route } from '../http/open-socket.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';
import { type Destination, missingBaseUrl, resolveDestination } from './destination.ts';
import {
  type OperationOptions,
  readOperationOptions,
  resolveAutofillValue,
  resolveMaxRetries,
  resolveTimeoutMs,
} from './operation-options.ts';

/** What flags, environment and profile say of a call, whatever its body. */
export interface CallSettings {
  readonly options: OperationOptions;
  readonly chosen: SelectedProfile;
  readonly destination: Destination;
  /** How the service is reached; the embedded one answers without it, and nothing is sent without it. */
  readonly route: Route | undefined;
  /** Milliseconds for the whole: attempts, waits and answer. */
  readonly timeoutMs: number | undefined;
  /** The most repeats. */
  readonly maxRetries: number;
}

/**
 * Reads what there is to know before a body is made. Throws usage for what contradicts itself and where there is no
 * address, and Failure `local` for certificates that cannot be read: all of it before stdin is read.
 */
export async function resolveCallSettings(
  operation: Operation,
  flags: FlagValues,
  runtime: Runtime,
): Promise<CallSettings> {
  const options = readOperationOptions(operation, flags);
  const chosen = await selectProfile(options.connectionFlags, runtime);
  const destination = resolveDestination(operation, options.connectionFlags, chosen, runtime.env);
  const timeoutMs = resolveTimeoutMs(flags, runtime.env, chosen.profile, operation);
  const maxRetries = resolveMaxRetries(flags, runtime.env, chosen.profile);
  const { url, isLocal } = destination;
  // A dry run does not need an address.
  if (!url && !options.previewFormat) throw missingBaseUrl();
  if (isLocal && options.previewFormat === 'curl')
    throw usageFailure('the embedded service has no address for curl', 'svc serve gives it one');
  const route =
    isLocal || options.previewFormat || !url
      ? undefined
      : await routeTo(url, options.certificateFiles, chosen.profile, runtime);
  return { options, chosen, destination, route, timeoutMs, maxRetries };
}

/** What is added to bodies that say nothing: from the environment and the profile; nothing for `--exact`. */
export function resolveAutofill(
  { exact }: OperationOptions,
  chosen: SelectedProfile,
  env: Runtime['env'],
): AutofillSettings | undefined {
  if (exact) return undefined;
  return {
    project: resolveAutofillValue('project_id', chosen, env),
    model: resolveAutofillValue('model', chosen, env),
  };
}
