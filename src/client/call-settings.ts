import type { AutofillSetting, AutofillSettings } from '../body/autofill.ts';
import { readProjectFile } from '../config/project-file.ts';
import { resolveSetting } from '../config/resolve-setting.ts';
import { routeTo } from '../config/route.ts';
import { type SelectedProfile, selectProfile } from '../config/select-profile.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../errors.ts';
import type { FlagValues } from '../flag.ts';
import type { Route } from '../http/open-socket.ts';
import type { Operation } from '../operations/operation.ts';
import { type Destination, ignoredBaseUrlNote, missingBaseUrl, resolveDestination } from './destination.ts';
import {
  type OperationOptions,
  readOperationOptions,
  resolveMaxRetries,
  resolveTimeoutMs,
} from './operation-options.ts';

/** The settings of a call, whatever its body, by flags, environment and profile. */
export interface CallSettings {
  readonly options: OperationOptions;
  readonly chosen: SelectedProfile;
  readonly destination: Destination;
  /** The route to the service; undefined for the local service and for a dry run. */
  readonly route: Route | undefined;
  /** Milliseconds for attempts, waits and response together. */
  readonly timeoutMs: number | undefined;
  /** Attempts after the first. */
  readonly maxRetries: number;
}

/**
 * Reads the settings before a body is built or stdin is read, and reports a base URL that is ignored. Throws usage for
 * contradictions and for a missing base URL, and Failure `local` for certificates that cannot be read.
 */
export async function resolveCallSettings(
  operation: Operation,
  flags: FlagValues,
  { runtime, signal, report }: Pick<Context, 'runtime' | 'signal' | 'report'>,
): Promise<CallSettings> {
  const options = readOperationOptions(operation, flags);
  const chosen = await selectProfile(options.connectionFlags, { runtime, report });
  const destination = resolveDestination(operation, options.connectionFlags, chosen, runtime.env);
  const ignored = ignoredBaseUrlNote(operation, chosen, runtime.env);
  if (ignored !== undefined) await report.note(ignored);
  const sources = { flags, env: runtime.env, selected: chosen };
  const timeoutMs = resolveTimeoutMs(sources, operation);
  const maxRetries = resolveMaxRetries(sources);
  const { url, isLocal } = destination;
  // A dry run needs no base URL.
  if (!url && !options.previewFormat) throw missingBaseUrl(chosen);
  if (isLocal && options.previewFormat === 'curl')
    throw usageFailure('--curl needs a URL, and --local has none', 'run svc serve, and pass its URL with --base-url');
  const route =
    isLocal || options.previewFormat || !url
      ? undefined
      : {
          ...(await routeTo(url, options.certificateFiles, chosen.profile, { runtime, signal, timeoutMs })),
          isPlainHttpAllowed: options.isPlainHttpAllowed,
        };
  return { options, chosen, destination, route, timeoutMs, maxRetries };
}

/** The project and model for bodies that name none: from environment, project file and profile; nothing with `--exact`. */
export async function resolveAutofill(
  { isExact }: OperationOptions,
  selected: SelectedProfile,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
): Promise<AutofillSettings | undefined> {
  if (isExact) return undefined;
  const sources = { env: runtime.env, project: await readProjectFile(runtime, report.warn), selected };
  const autofillSetting = (name: 'project_id' | 'model'): AutofillSetting => {
    const { text, source = '' } = resolveSetting(name, sources) ?? {};
    return { text, from: source };
  };
  return { project: autofillSetting('project_id'), model: autofillSetting('model') };
}
