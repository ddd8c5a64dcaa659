import { Buffer } from 'node:buffer';
import { credentialState } from '../../client/connection.ts';
import { isStreamRequested, type PreparedRequest } from '../../client/request.ts';
import type { Settings } from '../../client/resolve-settings.ts';
import { authScheme } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { commitOrAbandon } from '../../files/file-replacement.ts';
import type { HttpHeaders } from '../../http/message.ts';
import { rootOf } from '../../json/json-node.ts';
import { writeJson } from '../../json/write-json.ts';
import { isSecretHeader, REDACTED, redactHeaders, redactSecretFields } from '../../output/redaction.ts';
import { shellQuote, shellWord } from '../../output/shell-quote.ts';
import { openSink } from '../../output/sink.ts';
import type { Writer } from '../../output/writer.ts';
import type { Runtime } from '../../runtime.ts';

/** Shows a request instead of sending it, in the place of a result: on stdout, or in the file of `-o`. */
export async function showRequest(prepared: PreparedRequest, settings: Settings, context: Context): Promise<void> {
  const { runtime, stdout } = context;
  const sink = await openSink(settings.output, stdout, runtime.cwd);
  const show = settings.previewFormat === 'curl' ? showCurl : showDryRun;
  await commitOrAbandon(sink, () => show(prepared, settings, sink.writer, context));
}

// The body byte for byte, the rest on stderr; as JSON all in one object.
async function showDryRun(prepared: PreparedRequest, settings: Settings, writer: Writer, context: Context) {
  const { operation, headers, body, draft } = prepared;
  const { runtime, report } = context;
  const { destination, format, profile } = settings;
  const scheme = authScheme(operation.host, profile.profile) === 'basic' ? 'Basic ' : 'Bearer ';
  // None where the request would fail for lack of a credential for its URL.
  const credential: HttpHeaders = credentialState(settings, runtime) === 'set' ? [['Authorization', scheme]] : [];
  const lines = redactHeaders([...headers, ...credential]);
  const displayUrl = destination?.url.href ?? `{base_url}${operation.path}`;
  const isJson = format === 'json';
  if (isJson) {
    const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
    const request = { method: 'POST', url: displayUrl, headers: Object.fromEntries(pairs) };
    await writer.write(`${writeJson(request).slice(0, -1)},"body":`);
  } else for (const line of [`POST ${displayUrl}`, ...lines]) await report.line(line);
  if (body instanceof Uint8Array) {
    const redacted = redactSecretFields(rootOf(draft.doc), operation, () => REDACTED);
    await writer.write(isJson ? redacted.toString().trim() : redacted);
  } else for await (const chunk of body.chunks()) await writer.write(chunk);
  if (isJson) await writer.write('}\n');
}

// A single argument of a command may have 128 KiB on Linux; longer bodies come from the shell's own printf.
const MAX_ARGUMENT_BYTES = 100_000;

// As a curl command; secrets are variables of the shell. A body that is not in memory comes from svc with the same arguments.
async function showCurl(prepared: PreparedRequest, settings: Settings, writer: Writer, { runtime }: Context) {
  const { destination, certificateFiles, profile } = settings;
  const { operation, headers, draft } = prepared;
  const trustFiles = { ...certificateFiles, cacert: certificateFiles.cacert || profile.profile.cacert };
  const isBodyInMemory = prepared.body instanceof Uint8Array;
  const body = isBodyInMemory ? shellQuoteBody(prepared) : '';
  const isTooLongForArgument = Buffer.byteLength(body) > MAX_ARGUMENT_BYTES;
  const words = runtime.argv.filter((word) => word !== '--curl').map(shellWord);
  const bodySource = isBodyInMemory ? `printf %s ${body}` : `svc ${words.join(' ')} --dry-run --quiet --output -`;
  const lines = [
    `curl -sS${isStreamRequested(draft) ? ' -N' : ''} ${destination ? shellQuote(destination.url.href) : `"$SVC_BASE_URL"${shellQuote(operation.path)}`}`,
    ...(credentialState(settings, runtime) === 'unneeded' ? [] : [credentialWord(settings, runtime)]),
    ...Object.entries(trustFiles).flatMap(([name, file]) => (file ? [`--${name} ${shellQuote(file)}`] : [])),
    ...headers.map(([name, value]) => `-H ${shellQuoteHeader(name, value)}`),
    isBodyInMemory ? `--data-binary ${isTooLongForArgument ? '@-' : body}` : '-X POST -T -',
  ];
  await writer.write(`${isTooLongForArgument || !isBodyInMemory ? `${bodySource} |\n` : ''}${lines.join(' \\\n  ')}\n`);
}

function credentialWord({ operation, profile }: Settings, { env, credentials = [] }: Runtime): string {
  const scheme = authScheme(operation.host, profile.profile);
  const ofScheme = credentials.filter((one) => one.scheme === scheme);
  const { username, secret } = ofScheme.find((one) => env[one.secret]) ?? ofScheme[0] ?? { secret: '' };
  return username ? `-u "$${username}:$${secret}"` : `-H "Authorization: Bearer $${secret}"`;
}

function shellQuoteHeader(name: string, value: string): string {
  if (isSecretHeader(name)) return `${shellQuote(`${name}: `)}"$${name.toUpperCase().replace(/\W/g, '_')}"`;
  // With a colon and no value curl would leave the header out.
  return shellQuote(value === '' ? `${name};` : `${name}: ${value}`);
}

function shellQuoteBody({ draft, operation }: PreparedRequest): string {
  const marker = findUnusedMarker(draft.doc.bytes);
  const names: string[] = [];
  const markedBody = redactSecretFields(rootOf(draft.doc), operation, (name) => {
    names.push(name);
    return marker + name;
  });
  return names.reduce(
    (body, name) => body.replaceAll(`"${marker}${name}"`, () => `"'"$SVC_${name.toUpperCase()}"'"`),
    shellQuote(markedBody.toString()),
  );
}

// A text that does not occur in the body, as the marker of places where the shell inserts a variable.
function findUnusedMarker(body: Buffer): string {
  let marker = 'secret-';
  while (body.includes(marker)) marker += '-';
  return marker;
}
