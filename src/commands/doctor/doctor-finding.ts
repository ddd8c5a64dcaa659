import { Failure, type FailureCode } from '../../errors.ts';

/** Something that is not as it should be. With a code it fails the examination, without one it is a warning. */
export interface DoctorFinding {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly code?: FailureCode;
}

// What to fix first comes first: nothing can be reached with invalid settings.
const codePriority: readonly FailureCode[] = [
  'local',
  'usage',
  'guard',
  'credentials',
  'refused',
  'failed',
  'unknown',
  'limited',
  'unreachable',
];

/** The finding that decides how the examination ends; undefined where all are warnings. */
export function worstFinding(findings: readonly DoctorFinding[]): DoctorFinding | undefined {
  return codePriority.flatMap((code) => findings.filter((finding) => finding.code === code))[0];
}

/** The result of an action, or the finding its Failure is; whatever else is thrown passes on. */
export async function captureFinding<T>(
  action: () => T | Promise<T>,
  findings: DoctorFinding[],
): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { message, code, facts } = error;
    // Several base URLs may share what is wrong with them.
    if (!findings.some((finding) => finding.message === message)) findings.push({ message, code, hint: facts.hint });
    return undefined;
  }
}
