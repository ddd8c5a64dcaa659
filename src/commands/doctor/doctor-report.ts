import type { CertificateFiles } from '../../config/connect-options.ts';
import type { SelectedProfile, ServiceHost, SettingSources } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode } from '../../errors.ts';
import type { FlagValues } from '../../flag.ts';

/** The context of an examination, and its findings so far. */
export interface Examination {
  readonly context: Context;
  readonly flags: FlagValues;
  readonly certificateFiles: CertificateFiles;
  readonly selected: SelectedProfile;
  readonly sources: SettingSources;
  readonly findings: DoctorFinding[];
}

// Types, not interfaces: they are printed as JSON.

/** The source of a setting that nothing sets. */
export const NOT_SET = 'not set';

/** A setting, and its source. */
export type DoctorSetting = {
  readonly name: string;
  readonly value: string | null;
  readonly source: string;
};

/** A file or directory svc uses. */
export type FileState = {
  readonly what: string;
  readonly path: string;
  readonly exists: boolean;
  /** As in `chmod`: 0600. */
  readonly mode: string | null;
  /** Of a file, or of all files in the spool. */
  readonly bytes: number | null;
};

/** An attempt to connect to the origin of base URLs. */
export type ConnectionResult = {
  readonly address: string;
  readonly hosts: readonly ServiceHost[];
  readonly proxy: string | null;
  readonly reached: boolean;
  readonly milliseconds: number;
  /** The version of TLS, and when the certificate expires. */
  readonly tls: string | null;
  readonly certificate_expires: string | null;
  readonly error: string | null;
};

/** The response of the service to the probe, a request for the feedback schema. */
export type ProbeResult = {
  readonly project_id: string;
  readonly status: number | null;
  readonly milliseconds: number;
};

/** Everything that is reported. */
export interface DoctorReport {
  readonly settings: readonly DoctorSetting[];
  readonly files: readonly FileState[];
  readonly connections: readonly ConnectionResult[];
  readonly probe: ProbeResult | undefined;
  readonly findings: readonly DoctorFinding[];
}

/** A problem. With a code it fails the examination, without one it is a warning. */
export interface DoctorFinding {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly code?: FailureCode;
}

// In the order in which to fix them: no connection works with invalid settings.
const codePriority: readonly FailureCode[] = [
  'local_file',
  'usage',
  'safety_check',
  'credentials',
  'refused',
  'failed',
  'unknown',
  'invalid_response',
  'rate_limited',
  'unreachable',
];

/** The finding that decides how the examination ends; undefined if all are warnings. */
export function worstFinding(findings: readonly DoctorFinding[]): DoctorFinding | undefined {
  return codePriority.flatMap((code) => findings.filter((finding) => finding.code === code))[0];
}

/** The result of an action; its Failure becomes a finding. Throws any other error. */
export async function captureFinding<T>(
  action: () => T | Promise<T>,
  findings: DoctorFinding[],
): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { message, code, facts } = error;
    // Several base URLs can have the same problem.
    if (!findings.some((finding) => finding.message === message)) findings.push({ message, code, hint: facts.hint });
    return undefined;
  }
}
