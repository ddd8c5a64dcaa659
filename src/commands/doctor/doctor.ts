import type { RunCommand } from '../../command.ts';
import type { ServiceHost } from '../../config/base-url.ts';
import { resolveHistoryMode, resolveSetting } from '../../config/select-profile.ts';
import { readSettingValue } from '../../config/setting-kinds.ts';
import { findSetting } from '../../config/settings.ts';
import { Failure, type FailureCode } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import type { ResultOptions } from '../../output/output-format.ts';
import { ignoreClosedPipe } from '../../output/writer.ts';
import { alignColumns } from '../../results/format-rows.ts';
import { openResultOutput, printResult, resultOf, type StyledText } from '../../results/print-result.ts';
import type { DoctorOptions, Examination } from './examination.ts';
import { examineCredential, listSettings, NOT_SET, openExamination } from './examination.ts';
import { inspectFiles, probeService, testConnections } from './inspections.ts';

/** Reports settings, files and connections without secrets, and then throws the worst finding as a Failure. */
export const runDoctor: RunCommand<ResultOptions & DoctorOptions> = async ({ options }, context) => {
  const { stdout } = context;
  const output = await openResultOutput('report', options, context);
  const examination = await openExamination(options, context);
  const sections = await examine(examination);
  const { findings } = examination;
  const warnings = findings.map(({ message, hint, code }) => ({ message, hint, code }));
  const [worst] = findings.filter(({ code }) => code).sort((one, other) => urgencyOf(one) - urgencyOf(other));
  // The failure is printed at the end.
  const problems = findings.filter((finding) => finding !== worst);
  const columns = stdout.isTerminal ? stdout.columns : undefined;
  const { readyHosts, authorizedHosts, ...report } = sections;
  const verdict = verdictOf(examination, sections, worst);
  const text = (): StyledText[] => [
    { text: `${verdict}\n\n` },
    ...formatReport(sections, problems, options.all === true, columns),
  ];
  await ignoreClosedPipe(printResult({ ...resultOf({ verdict, ...report, warnings }), text }, output));
  if (worst?.code) throw new Failure(worst.code, worst.message, { hint: worst.hint, applied: 'no' });
};

// In the order in which to fix them: no connection works with invalid settings, and no probe without a connection.
function urgencyOf({ code }: Examination['findings'][number]): number {
  const first: readonly (FailureCode | undefined)[] = ['local_file', 'usage', 'safety_check', 'credentials'];
  if (code === 'unreachable') return first.length + 1;
  return first.includes(code) ? first.indexOf(code) : first.length;
}

const UNSURE = 'ready, if the server has them, for';
const uses = { chat: 'chats', train: 'training', trace: 'feedback' } as const;

// `ready for chats; no credentials for feedback`. Nothing is ready with an invalid setting or file.
function verdictOf(
  { selected: { isLocal }, baseUrls }: Examination,
  { readyHosts, authorizedHosts, connections, probe }: Sections,
  worst: Examination['findings'][number] | undefined,
): string {
  if (worst?.code && urgencyOf(worst) < urgencyOf({ message: '', code: 'credentials' }))
    return `not ready: ${worst.message}`;
  const originOf = (host: ServiceHost) => baseUrls.find((one) => one.host === host)?.url.origin;
  // A server that takes one credential is not one without a key.
  const keyedOrigins = authorizedHosts.map(originOf);
  const stateOf = (host: ServiceHost): string => {
    if (isLocal) return 'ready for';
    const origin = originOf(host);
    if (origin === undefined) return 'no base URL for';
    const isKeyless = readyHosts.includes(host) && !keyedOrigins.includes(origin);
    if (!isKeyless && !authorizedHosts.includes(host)) return 'no credentials for';
    if (!connections.some(({ hosts, reached }) => reached && hosts.includes(host))) return 'no connection for';
    if (host === 'trace' && probe?.failed) return 'the probe failed for';
    // A model server under --base-url has chats alone.
    return isKeyless && baseUrls.filter(({ url }) => url.origin === origin).length > 1 ? UNSURE : 'ready for';
  };
  const hosts = ['chat', 'train', 'trace'] as const;
  const states = [
    'ready for',
    UNSURE,
    'the probe failed for',
    'no base URL for',
    'no credentials for',
    'no connection for',
  ];
  const parts = states.flatMap((state) => {
    const names = hosts.filter((host) => stateOf(host) === state).map((host) => uses[host]);
    return names.length === 0 ? [] : [`${state} ${names.join(', ').replace(/, ([^,]*)$/, ' and $1')}`];
  });
  return (parts[0]?.startsWith('ready') ? parts : ['not ready', ...parts]).join('; ');
}

async function examine(examination: Examination) {
  const { context, options, selected, sources, baseUrls, findings, capture } = examination;
  const { cwd } = context.runtime;
  await capture(() => resolveHistoryMode(sources));
  for (const name of ['timeout', 'retries', 'project_id', 'trace_auth'] as const) {
    const setting = resolveSetting(name, sources);
    if (setting) await capture(() => readSettingValue(findSetting(name), setting.text, setting.label, cwd));
  }
  const schemes = selected.isLocal ? [] : (['basic', 'bearer'] as const);
  const credentials = await Promise.all(schemes.map((scheme) => examineCredential(scheme, examination)));
  const allSettings = listSettings(
    examination,
    credentials.map(({ row }) => row),
  );
  const settings = options.all ? allSettings : allSettings.filter(({ source }) => source !== NOT_SET);
  const files = await inspectFiles(examination);
  if (baseUrls.length > 0 && credentials.every(({ readyHosts }) => readyHosts.length === 0))
    findings.push({
      message: 'no credentials are set for any base URL',
      hint: `run: svc auth login --profile ${selected.name}`,
      code: 'credentials',
    });
  const stopSpinner = context.startSpinner('connecting');
  try {
    const connections = await testConnections(examination);
    const [basic, bearer] = credentials;
    const isProbe = options.probe;
    const canProbe = bearer?.authorizedHosts.length === 0 || basic?.row.source !== NOT_SET;
    if (isProbe && !canProbe)
      findings.push({ message: 'the probe was skipped: it needs a user name and password (a chat would cost money)' });
    const probe = isProbe && canProbe ? await capture(() => probeService(examination)) : undefined;
    const readyHosts = credentials.flatMap((one) => one.readyHosts);
    const authorizedHosts = credentials.flatMap((one) => one.authorizedHosts);
    return { settings, files, connections, probe, readyHosts, authorizedHosts };
  } finally {
    stopSpinner();
  }
}

type Sections = Awaited<ReturnType<typeof examine>>;

// In tables that fit `columns` columns: settings, files, connections, and the problems last.
function formatReport(
  { settings, files, connections, probe }: Sections,
  problems: Examination['findings'],
  isAll: boolean,
  columns: number | undefined,
): StyledText[] {
  // Defaults matter to nobody who looks for a problem.
  const settingRows = settings
    .filter(({ source }) => isAll || source !== 'default')
    .map(({ name, value, source }) => [name, value ?? '-', source]);
  const fileRows = files
    .filter(({ what, exists }) => exists || !/history|spool/.test(what))
    .map(({ what, path, mode, bytes }) => [what, mode ?? 'absent', bytes === null ? '' : formatByteSize(bytes), path]);
  const connectionRows = connections.map(
    ({ address, hosts, proxy, reached: isReached, milliseconds, tls, certificate_expires: expiry, error }) => {
      const facts = isReached
        ? [`${milliseconds} ms`, tls, expiry && `certificate until ${expiry.slice(0, 10)}`]
        : [error];
      const details = [...facts, proxy && `through ${proxy}`, `for ${hosts.join(', ')}`];
      return [address, isReached ? 'reached' : 'failed', details.filter(Boolean).join(', ')];
    },
  );
  if (probe) {
    const outcome = probe.status === null ? 'no response' : `status ${probe.status}`;
    connectionRows.push(['svc feedback schema', outcome, `${probe.milliseconds} ms, project ${probe.project_id}`]);
  }
  const tables = { Settings: settingRows, Files: fileRows, Connections: connectionRows };
  const sections = Object.entries(tables).flatMap(([title, rows]) => {
    const table = alignColumns(rows, columns && columns - 2).replace(/^/gm, '  ');
    return rows.length === 0 ? [] : `${title}\n${table.trimEnd()}\n`;
  });
  return [
    { text: sections.join('\n') },
    ...(problems.length === 0 ? [] : [{ text: '\nProblems\n' }]),
    ...problems.map(({ message, hint }) => ({
      text: `  ${message}${hint ? `\n    ${hint}` : ''}\n`,
      style: 'yellow' as const,
    })),
  ];
}
