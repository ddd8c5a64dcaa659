import { resolveBaseUrl, type ServiceHost, serviceHosts } from '../../config/base-url.ts';
import { missingBaseUrl } from '../../config/destination.ts';
import { DEFAULT_PROFILE_NAME } from '../../config/profile-store.ts';
import { readProjectFile } from '../../config/project-file.ts';
import { type SelectedProfile, type SettingSources, selectProfile } from '../../config/select-profile.ts';
import { environmentSetting, type ServiceOptions } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode } from '../../errors.ts';
import type { OptionsOfList } from '../../flag.ts';
import type { doctorFlags } from '../command-flags.ts';

export type DoctorOptions = ServiceOptions & OptionsOfList<typeof doctorFlags>;

/** A problem. With a code it fails the examination, without one it is a warning. */
interface DoctorFinding {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly code?: FailureCode;
}

export interface Examination {
  readonly context: Context;
  readonly options: DoctorOptions;
  readonly selected: SelectedProfile;
  readonly sources: SettingSources;
  /** Those that are set and valid. */
  readonly baseUrls: readonly { readonly host: ServiceHost; readonly url: URL }[];
  readonly findings: DoctorFinding[];
  /** The result of an action; its Failure becomes a finding. Throws any other error. */
  readonly capture: <T>(action: () => T | Promise<T>) => Promise<T | undefined>;
}

export async function openExamination(options: DoctorOptions, context: Context): Promise<Examination> {
  const { runtime } = context;
  const { env } = runtime;
  const findings: DoctorFinding[] = [];
  const capture: Examination['capture'] = async (action) => {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { message, code, facts } = error;
      // Several base URLs can have the same problem.
      if (!findings.some((finding) => finding.message === message)) findings.push({ message, code, hint: facts.hint });
      return undefined;
    }
  };
  const warn = async (message: string) => void findings.push({ message });
  const report = { warn, note: warn };
  // A profile that cannot be read is reported; the rest is examined as if it were empty.
  const selected = (await capture(() => selectProfile(options, { runtime, report }))) ?? {
    name: options.profile || environmentSetting('profile', env) || DEFAULT_PROFILE_NAME,
    source: 'could not be read',
    isLocal: false,
    profile: {},
  };
  const sources = { options, env, project: await capture(() => readProjectFile(runtime, report.warn)), selected };
  const baseUrls: { host: ServiceHost; url: URL }[] = [];
  const findingsBefore = findings.length;
  for (const host of selected.isLocal ? [] : serviceHosts) {
    const url = await capture(() => resolveBaseUrl(host, options.baseUrl, env, selected.profile));
    if (url) baseUrls.push({ host, url });
  }
  if (!selected.isLocal && baseUrls.length === 0 && findings.length === findingsBefore)
    await capture(() => {
      throw missingBaseUrl(selected);
    });
  return { context, options, selected, sources, baseUrls, findings, capture };
}
