import { Buffer } from 'node:buffer';
import { asksForStream, type Prepared, withoutSecrets } from '../call/prepared.ts';
import { isSecretHeader } from '../http/trace.ts';
import type { Writer } from '../output/writer.ts';
import type { CertificateFiles } from '../profiles/way.ts';

// A single argument of a command may have 128 KiB on Linux; longer bodies come from the shell's own printf.
const LONGEST_ARGUMENT = 100_000;

/**
 * Prints a request as a curl command that a shell can run; secrets are variables of that shell. A body that is not in
 * hand comes from svc itself, by the words it was called with.
 */
export async function showCurl(
  prepared: Prepared,
  { cacert, cert, key }: CertificateFiles,
  argv: readonly string[],
  writer: Writer,
): Promise<void> {
  const { operation, url, headers, draft } = prepared;
  const isHere = prepared.body instanceof Uint8Array;
  const body = isHere ? quotedBody(prepared) : '';
  const isLong = Buffer.byteLength(body) > LONGEST_ARGUMENT;
  const before = isHere ? `printf %s ${body}` : bodyCommand(argv);
  const lines = [
    `curl -sS${asksForStream(draft) ? ' -N' : ''} ${url ? quoted(url.href) : `"$SVC_BASE_URL"${quoted(operation.path)}`}`,
    operation.auth === 'basic' ? '-u "$SVC_USERNAME:$SVC_PASSWORD"' : '-H "Authorization: Bearer $SVC_TOKEN"',
    ...Object.entries({ cacert, cert, key }).flatMap(([name, file]) => (file ? [`--${name} ${quoted(file)}`] : [])),
    ...headers.map(([name, value]) => `-H ${quotedHeader(name, value)}`),
    isHere ? `--data-binary ${isLong ? '@-' : body}` : '-X POST -T -',
  ];
  await writer.write(`${isLong || !isHere ? `${before} |\n` : ''}${lines.join(' \\\n  ')}\n`);
}

function bodyCommand(argv: readonly string[]): string {
  const words = argv
    .filter((word) => word !== '--curl')
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word)));
  return ['svc', ...words, '--dry-run', '--quiet', '--output', '-'].join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function quotedHeader(name: string, value: string): string {
  if (isSecretHeader(name)) return `${quoted(`${name}: `)}"$${name.toUpperCase().replace(/\W/g, '_')}"`;
  // With a colon and no value curl would leave the header out.
  return quoted(value === '' ? `${name};` : `${name}: ${value}`);
}

function quotedBody({ draft, operation }: Prepared): string {
  const mark = unusedIn(draft.doc.bytes);
  const names: string[] = [];
  const marked = withoutSecrets(draft, operation, (name) => {
    names.push(name);
    return mark + name;
  });
  return names.reduce(
    (body, name) => body.replaceAll(`"${mark}${name}"`, () => `"'"$SVC_${name.toUpperCase()}"'"`),
    quoted(marked.toString()),
  );
}

// Text that the body does not have, to mark the places where the shell shall read a variable.
function unusedIn(body: Buffer): string {
  let mark = 'secret-';
  while (body.includes(mark)) mark += '-';
  return mark;
}
