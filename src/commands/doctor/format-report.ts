import type { StyledText } from '../../results/print-result.ts';
import type { ConnectionResult, DoctorReport } from './doctor-report.ts';

/** An examination for people: settings, files, connections, and the warnings last. */
export function formatDoctorReport({ settings, files, connections, probe, findings }: DoctorReport): StyledText[] {
  return [
    formatSection(
      'Settings',
      settings.map(({ name, value, source }) => [name, value ?? '-', source]),
    ),
    formatSection(
      'Files',
      files.map(({ what, path, exists, mode }) => [what, exists ? (mode ?? '') : 'absent', path]),
    ),
    formatSection('Connections', [
      ...connections.map(formatConnectionRow),
      ...(probe
        ? [
            [
              'svc feedback schema',
              probe.status === null ? 'no answer' : `status ${probe.status}`,
              `${probe.milliseconds} ms, project ${probe.project_id}`,
            ],
          ]
        : []),
    ]),
    ...(findings.length === 0 ? [] : [{ text: '\nWarnings\n' }]),
    ...findings.map(({ message, hint }) => ({
      text: `  ${message}${hint ? `\n    ${hint}` : ''}\n`,
      style: 'yellow' as const,
    })),
  ]
    .filter(({ text }) => text !== '')
    .map((part, at) => (at === 0 ? { ...part, text: part.text.trimStart() } : part));
}

function formatConnectionRow({
  address,
  hosts,
  proxy,
  reached,
  milliseconds,
  tls,
  certificate_expires,
  error,
}: ConnectionResult): string[] {
  const facts = reached
    ? [`${milliseconds} ms`, tls, certificate_expires && `certificate until ${certificate_expires.slice(0, 10)}`]
    : [error];
  return [
    address,
    reached ? 'reached' : 'failed',
    [...facts, proxy && `through ${proxy}`, `for ${hosts.join(', ')}`].filter(Boolean).join(', '),
  ];
}

function formatSection(title: string, rows: readonly (readonly string[])[]): StyledText {
  if (rows.length === 0) return { text: '' };
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const lines = rows.map((row) => `  ${row.map((text, at) => text.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd());
  return { text: `\n${title}\n${lines.join('\n')}\n` };
}
