import type { Settings } from '../body/fills.ts';
import { type Destination, destinationOf, noAddress } from '../call/destination.ts';
import { usage } from '../errors.ts';
import type { FlagValues } from '../fields/flag.ts';
import type { Way } from '../http/connection.ts';
import type { Operation } from '../operations/operation.ts';
import { type Chosen, chooseProfile } from '../profiles/resolve.ts';
import { wayTo } from '../profiles/way.ts';
import type { Runtime } from '../runtime.ts';
import { fillingOf, type Options, readOptions, retryLimit, timeLimit } from './options.ts';

/** What flags, environment and profile say of a call, whatever its body. */
export interface Call {
  readonly options: Options;
  readonly chosen: Chosen;
  readonly destination: Destination;
  /** How the service is reached; the embedded one answers without it, and nothing is sent without it. */
  readonly way: Way | undefined;
  /** Milliseconds for the whole: attempts, waits and answer. */
  readonly limit: number | undefined;
  /** The most repeats. */
  readonly retries: number;
}

/**
 * Reads what there is to know before a body is made. Throws usage for what contradicts itself and where there is no
 * address, and Failure `local` for certificates that cannot be read: all of it before stdin is read.
 */
export async function callOf(operation: Operation, flags: FlagValues, runtime: Runtime): Promise<Call> {
  const options = readOptions(operation, flags);
  const chosen = await chooseProfile(options.wanted, runtime);
  const destination = destinationOf(operation, options.wanted, chosen, runtime.env);
  const limit = timeLimit(flags, runtime.env, chosen.profile, operation);
  const retries = retryLimit(flags, runtime.env, chosen.profile);
  const { url, isLocal } = destination;
  // A dry run does not need an address.
  if (!url && !options.show) throw noAddress();
  if (isLocal && options.show === 'curl')
    throw usage('the embedded service has no address for curl', 'svc serve gives it one');
  const way = isLocal || options.show || !url ? undefined : await wayTo(url, options.files, chosen.profile, runtime);
  return { options, chosen, destination, way, limit, retries };
}

/** What is added to bodies that say nothing: from the environment and the profile; nothing for `--exact`. */
export function settingsOf({ exact }: Options, chosen: Chosen, env: Runtime['env']): Settings | undefined {
  if (exact) return undefined;
  return { project: fillingOf('project_id', chosen, env), model: fillingOf('model', chosen, env) };
}
