import {
  readCertificateFlags,
  resolveHistoryMode,
  resolveMaxRetries,
  resolveTimeoutMs,
} from '../../client/settings.ts';
import type { RunCommand } from '../../command.ts';
import { DEFAULT_PROFILE_NAME } from '../../config/profile-store.ts';
import { readProjectFile } from '../../config/project-file.ts';
import { resolveSetting, type SettingSources, selectProfile } from '../../config/select-profile.ts';
import { readSettingValue } from '../../config/setting-kinds.ts';
import { findSetting } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import { ignoreClosedPipe } from '../../output/writer.ts';
import { openResultOutput, printResult, resultOf, type StyledText } from '../../results/print-result.ts';
import { resolveBaseUrls, testConnections } from './connections.ts';
import { findMissingCredentials } from './credentials.ts';
import { captureFinding, type DoctorFinding, type DoctorReport, NOT_SET, worstFinding } from './doctor-report.ts';
import { inspectFiles } from './files.ts';
import { formatDoctorReport } from './format-report.ts';
import { probeService } from './probe.ts';
import { listSettings } from './settings.ts';

/**
 * Shows every setting that is set or has a default, with its source, and whether the service can be reached; secrets are redacted. Throws the worst
 * finding as a Failure.
 */
export const runDoctor: RunCommand = async ({ flags }, context) => {
  const { stdout } = context;
  const output = await openResultOutput('report', flags, context);
  const doctorReport = await collectReport(flags, context);
  const { findings, ...sections } = doctorReport;
  const warnings = findings.map(({ message, hint, code }) => ({ message, hint, code }));
  const worst = worstFinding(findings);
  // The failure is printed at the end; defaults matter to nobody who looks for a problem.
  const shown = {
    ...doctorReport,
    settings: isFlagOn(flags, 'all')
      ? sections.settings
      : sections.settings.filter(({ source }) => source !== 'default'),
    findings: findings.filter((finding) => finding !== worst || !worst.code),
  };
  const text = (): StyledText[] => formatDoctorReport(shown, stdout.isTerminal ? stdout.columns : undefined);
  await ignoreClosedPipe(printResult({ ...resultOf({ ...sections, warnings }), text }, output).then(stdout.end));
  if (worst?.code) throw new Failure(worst.code, worst.message, { hint: worst.hint, applied: 'no' });
};

async function collectReport(flags: FlagValues, context: Context): Promise<DoctorReport> {
  const { runtime } = context;
  const { env } = runtime;
  const findings: DoctorFinding[] = [];
  const capture = <T>(action: () => T | Promise<T>): Promise<T | undefined> => captureFinding(action, findings);
  const report = { warn: async (message: string) => void findings.push({ message }) };
  // A profile that cannot be read is reported; the rest is examined as if it were empty.
  const selected = (await capture(() => selectProfile(flags, { runtime, report }))) ?? {
    name: getStringFlag(flags, 'profile') || env.SVC_PROFILE || DEFAULT_PROFILE_NAME,
    source: 'could not be read',
    isLocal: false,
    profile: {},
  };
  const sources = { flags, env, project: await capture(() => readProjectFile(runtime, report.warn)), selected };
  const certificateFiles = readCertificateFlags(flags);
  const examination = { context, flags, certificateFiles, selected, sources, findings };
  const baseUrls = await resolveBaseUrls(examination);
  await capture(() => resolveTimeoutMs(sources, feedbackSchemaOperation));
  await capture(() => resolveMaxRetries(sources));
  await capture(() => resolveHistoryMode(sources));
  await capture(() => requireValidProject(sources, runtime.cwd));
  const allSettings = await listSettings(examination, baseUrls);
  const settings = isFlagOn(flags, 'all') ? allSettings : allSettings.filter(({ source }) => source !== NOT_SET);
  const files = await inspectFiles(examination);
  findings.push(...(await findMissingCredentials(examination, baseUrls)));
  const stopSpinner = context.startSpinner('connecting');
  try {
    const connections = await testConnections(examination, baseUrls);
    const probe = isFlagOn(flags, 'probe') ? await capture(() => probeService(examination)) : undefined;
    return { settings, files, connections, probe, findings };
  } finally {
    stopSpinner();
  }
}

function requireValidProject(sources: SettingSources, cwd: string): void {
  const setting = resolveSetting('project_id', sources);
  if (setting) readSettingValue(findSetting('project_id'), setting.text, setting.label, cwd);
}
