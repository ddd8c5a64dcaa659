import { formatByteSize } from '../../files/byte-size.ts';
import { alignColumns } from '../../results/format-rows.ts';
import type { StyledText } from '../../results/print-result.ts';
import type { ConnectionResult, DoctorReport, ProbeResult } from './doctor-report.ts';

/** A report as text, in tables that fit `columns` columns: settings, files, connections, and the problems last. */
export function formatDoctorReport(
  { settings, files, connections, probe, findings }: DoctorReport,
  columns: number | undefined,
): StyledText[] {
  const formatSection = (title: string, rows: readonly (readonly string[])[]): StyledText => ({
    text: rows.length === 0 ? '' : `\n${title}\n${indentLines(alignColumns(rows, columns && columns - 2))}`,
  });
  return [
    formatSection(
      'Settings',
      settings.map(({ name, value, source }) => [name, value ?? '-', source]),
    ),
    formatSection(
      'Files',
      files
        .filter(({ what, exists }) => exists || !/history|spool/.test(what))
        .map(({ what, path, exists, mode, bytes }) => [
          what,
          exists ? (mode ?? '') : 'absent',
          bytes === null ? '' : formatByteSize(bytes),
          path,
        ]),
    ),
    formatSection('Connections', [...connections.map(formatConnectionRow), ...(probe ? [formatProbeRow(probe)] : [])]),
    ...(findings.length === 0 ? [] : [{ text: '\nProblems\n' }]),
    ...findings.map(({ message, hint }) => ({
      text: `  ${message}${hint ? `\n    ${hint}` : ''}\n`,
      style: 'yellow' as const,
    })),
  ]
    .filter(({ text }) => text !== '')
    .map((part, at) => (at === 0 ? { ...part, text: part.text.trimStart() } : part));
}

function formatConnectionRow(connection: ConnectionResult): string[] {
  const { address, hosts, proxy, reached: isReached, milliseconds, tls, certificate_expires, error } = connection;
  const facts = isReached
    ? [`${milliseconds} ms`, tls, certificate_expires && `certificate until ${certificate_expires.slice(0, 10)}`]
    : [error];
  return [
    address,
    isReached ? 'reached' : 'failed',
    [...facts, proxy && `through ${proxy}`, `for ${hosts.join(', ')}`].filter(Boolean).join(', '),
  ];
}

function formatProbeRow({ status, milliseconds, project_id }: ProbeResult): string[] {
  const outcome = status === null ? 'no response' : `status ${status}`;
  return ['svc feedback schema', outcome, `${milliseconds} ms, project ${project_id}`];
}

function indentLines(text: string): string {
  return text.replace(/^/gm, '  ').trimEnd().concat('\n');
}
