import { type PreparedRequest, redactSecretFields } from '../../client/prepared-request.ts';
import { redactHeaders } from '../../http/verbose-log.ts';
import { writeJson } from '../../json/write-json.ts';
import type { Reporter } from '../../output/reporter.ts';
import type { Writer } from '../../output/writer.ts';

/** Shows a request instead of sending it: the body byte for byte, the rest on stderr; as JSON all in one object. */
export async function showDryRun(
  prepared: PreparedRequest,
  isJson: boolean,
  writer: Writer,
  report: Reporter,
): Promise<void> {
  const { operation, url, headers, isLocal } = prepared;
  const scheme = operation.auth === 'basic' ? 'Basic ' : 'Bearer ';
  const lines = redactHeaders(isLocal ? headers : [...headers, ['Authorization', scheme]]);
  const displayUrl = url?.href ?? `{base_url}${operation.path}`;
  if (isJson) {
    const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
    const request = { method: 'POST', url: displayUrl, headers: Object.fromEntries(pairs) };
    await writer.write(`${writeJson(request).slice(0, -1)},"body":`);
    await writeBody(prepared, writer, true);
    await writer.write('}\n');
  } else {
    for (const line of [`POST ${displayUrl}`, ...lines]) await report.line(line);
    await writeBody(prepared, writer, false);
  }
}

async function writeBody(
  { body, draft, operation }: PreparedRequest,
  writer: Writer,
  isEmbedded: boolean,
): Promise<void> {
  if (body instanceof Uint8Array) {
    const redacted = redactSecretFields(draft, operation, () => '[hidden]');
    await writer.write(isEmbedded ? redacted.toString().trim() : redacted);
  } else for await (const chunk of body.chunks()) await writer.write(chunk);
}
