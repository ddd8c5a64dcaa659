/** A finding to show beside a line of a file in a pull request. */
export interface Annotation {
  readonly level: 'error' | 'warning';
  readonly title: string;
  readonly message: string;
  /** `groups.jsonl:12:7`, or the name of a file alone. */
  readonly at: string;
}

/** The workflow command, one line without its end, that makes GitHub Actions show a finding; it may be printed to stdout or stderr. */
export function formatGithubAnnotation({ level, title, message, at }: Annotation): string {
  const [, file = at, line, column] = /^(.*?):(\d+):(\d+)$/.exec(at) ?? [];
  const properties = Object.entries({ file: file === 'stdin' ? undefined : file, line, col: column, title })
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value = '']) => `${name}=${escapeProperty(value)}`);
  return `::${level} ${properties.join(',')}::${escapeData(message)}`;
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
