import { Buffer } from 'node:buffer';
import { isStreamRequested, type PreparedRequest, redactSecretFields } from '../../client/prepared-request.ts';
import type { CertificateFiles } from '../../config/route.ts';
import { isSecretHeader } from '../../http/verbose-log.ts';
import type { Writer } from '../../output/writer.ts';

// A single argument of a command may have 128 KiB on Linux; longer bodies come from the shell's own printf.
const MAX_ARGUMENT_BYTES = 100_000;

/**
 * Prints a request as a curl command that a shell can run; secrets are variables of that shell. A body that is not in
 * hand comes from svc itself, by the words it was called with.
 */
export async function showCurl(
  prepared: PreparedRequest,
  { cacert, cert, key }: CertificateFiles,
  argv: readonly string[],
  writer: Writer,
): Promise<void> {
  const { operation, url, headers, draft } = prepared;
  const isBodyInMemory = prepared.body instanceof Uint8Array;
  const body = isBodyInMemory ? shellQuoteBody(prepared) : '';
  const isTooLongForArgument = Buffer.byteLength(body) > MAX_ARGUMENT_BYTES;
  const bodySource = isBodyInMemory ? `printf %s ${body}` : formatBodyCommand(argv);
  const lines = [
    `curl -sS${isStreamRequested(draft) ? ' -N' : ''} ${url ? shellQuote(url.href) : `"$SVC_BASE_URL"${shellQuote(operation.path)}`}`,
    operation.auth === 'basic' ? '-u "$SVC_USERNAME:$SVC_PASSWORD"' : '-H "Authorization: Bearer $SVC_TOKEN"',
    ...Object.entries({ cacert, cert, key }).flatMap(([name, file]) => (file ? [`--${name} ${shellQuote(file)}`] : [])),
    ...headers.map(([name, value]) => `-H ${shellQuoteHeader(name, value)}`),
    isBodyInMemory ? `--data-binary ${isTooLongForArgument ? '@-' : body}` : '-X POST -T -',
  ];
  await writer.write(`${isTooLongForArgument || !isBodyInMemory ? `${bodySource} |\n` : ''}${lines.join(' \\\n  ')}\n`);
}

function formatBodyCommand(argv: readonly string[]): string {
  const words = argv
    .filter((word) => word !== '--curl')
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word)));
  return ['svc', ...words, '--dry-run', '--quiet', '--output', '-'].join(' ');
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function shellQuoteHeader(name: string, value: string): string {
  if (isSecretHeader(name)) return `${shellQuote(`${name}: `)}"$${name.toUpperCase().replace(/\W/g, '_')}"`;
  // With a colon and no value curl would leave the header out.
  return shellQuote(value === '' ? `${name};` : `${name}: ${value}`);
}

function shellQuoteBody({ draft, operation }: PreparedRequest): string {
  const marker = findUnusedMarker(draft.doc.bytes);
  const names: string[] = [];
  const markedBody = redactSecretFields(draft, operation, (name) => {
    names.push(name);
    return marker + name;
  });
  return names.reduce(
    (body, name) => body.replaceAll(`"${marker}${name}"`, () => `"'"$SVC_${name.toUpperCase()}"'"`),
    shellQuote(markedBody.toString()),
  );
}

// Text that the body does not have, to mark the places where the shell shall read a variable.
function findUnusedMarker(body: Buffer): string {
  let marker = 'secret-';
  while (body.includes(marker)) marker += '-';
  return marker;
}
