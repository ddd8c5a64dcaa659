import { resolveHistoryMode } from '../../client/history/request-history.ts';
import { readCertificateFlags, resolveMaxRetries, resolveTimeoutMs } from '../../client/operation-options.ts';
import type { RunCommand } from '../../command.ts';
import { DEFAULT_PROFILE_NAME } from '../../config/profile.ts';
import { readProjectFile } from '../../config/project-file.ts';
import { resolveSetting, type SettingSources } from '../../config/resolve-setting.ts';
import { type SelectedProfile, selectProfile } from '../../config/select-profile.ts';
import { readSettingValue } from '../../config/setting-kinds.ts';
import { settingNamed } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { type FlagValues, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import { ignoreClosedPipe } from '../../output/writer.ts';
import { openResultOutput, printResult, resultOf, type StyledText } from '../../results/print-result.ts';
import { resolveBaseUrls } from './base-urls.ts';
import { testConnections } from './connections.ts';
import { findMissingCredentials } from './credentials.ts';
import {
  captureFinding,
  type DoctorFinding,
  type DoctorOptions,
  type DoctorReport,
  worstFinding,
} from './doctor-report.ts';
import { inspectFiles } from './files.ts';
import { formatDoctorReport } from './format-report.ts';
import { probeService } from './probe.ts';
import { listSettings } from './settings.ts';

/**
 * Shows what is configured, what gives it, and whether the service can be reached, without a secret. Throws the worst
 * of what it finds as a Failure.
 */
export const runDoctor: RunCommand = async ({ flags }, context) => {
  const { stdout } = context;
  const output = await openResultOutput('report', flags, context);
  const doctorReport = await collectReport(flags, context);
  const text = (): StyledText[] => formatDoctorReport(doctorReport, stdout.isTerminal ? stdout.columns : undefined);
  await ignoreClosedPipe(printResult({ ...resultOf(reportToJson(doctorReport)), text }, output).then(stdout.end));
  const worst = worstFinding(doctorReport.findings);
  if (worst?.code) throw new Failure(worst.code, worst.message, { hint: worst.hint, applied: 'no' });
};

async function collectReport(flags: FlagValues, context: Context): Promise<DoctorReport> {
  const { runtime } = context;
  const findings: DoctorFinding[] = [];
  const options = readDoctorOptions(flags);
  const report = { warn: async (message: string) => void findings.push({ message }) };
  const selectedProfile =
    (await captureFinding(() => selectProfile(options.connectionFlagsFor('trace'), { runtime, report }), findings)) ??
    unreadableProfile(flags, runtime.env);
  const project = await captureFinding(() => readProjectFile(runtime), findings);
  const sources = { flags, env: runtime.env, project, selected: selectedProfile };
  const baseUrls = await resolveBaseUrls(options, selectedProfile, runtime.env, findings);
  const timeoutMs = await captureFinding(() => resolveTimeoutMs(sources, feedbackSchemaOperation), findings);
  await captureFinding(() => resolveMaxRetries(sources), findings);
  await captureFinding(() => resolveHistoryMode(sources), findings);
  await captureFinding(() => requireValidProject(sources, runtime.cwd), findings);
  const settings = await listSettings(options, sources, selectedProfile, baseUrls, runtime, findings);
  const files = await inspectFiles(options, selectedProfile, runtime, findings);
  findings.push(...(await findMissingCredentials(selectedProfile, baseUrls, runtime.env)));
  const stopSpinner = context.startSpinner('connecting');
  try {
    const connections = await testConnections(baseUrls, options, selectedProfile, context, findings);
    const probeResult = getBooleanFlag(flags, 'probe')
      ? await captureFinding(
          () => probeService(options, selectedProfile, project, context, findings, timeoutMs),
          findings,
        )
      : undefined;
    return { settings, files, connections, probe: probeResult, findings };
  } finally {
    stopSpinner();
  }
}

function requireValidProject(sources: SettingSources, cwd: string): void {
  const setting = resolveSetting('project_id', sources);
  if (setting) readSettingValue(settingNamed('project_id'), setting.text, setting.label, cwd);
}

function readDoctorOptions(flags: FlagValues): DoctorOptions {
  return {
    connectionFlagsFor: (host) => ({
      profile: getStringFlag(flags, 'profile'),
      isLocal: getBooleanFlag(flags, 'local') === true,
      baseUrl: getStringFlag(flags, 'base-url'),
      hostUrl: getStringFlag(flags, `${host}-base-url`),
    }),
    certificateFiles: readCertificateFlags(flags),
  };
}

// A profile that cannot be read is reported; the rest is examined as if it were empty.
function unreadableProfile(flags: FlagValues, env: Context['runtime']['env']): SelectedProfile {
  const name = getStringFlag(flags, 'profile') || env.SVC_PROFILE || DEFAULT_PROFILE_NAME;
  return { name, source: 'could not be read', isLocal: false, profile: {} };
}

function reportToJson({ settings, files, connections, probe: asked, findings }: DoctorReport) {
  return {
    settings: settings.map((setting) => ({ ...setting })),
    files: files.map((file) => ({ ...file })),
    connections: connections.map((connection) => ({ ...connection })),
    probe: asked ? { ...asked } : undefined,
    warnings: findings.map(({ message, hint, code }) => ({ message, hint, code })),
  };
}
