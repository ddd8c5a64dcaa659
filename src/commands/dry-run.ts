import { type Prepared, withoutSecrets } from '../call/prepared.ts';
import { shownHeaders } from '../http/trace.ts';
import { writeJson } from '../json/write.ts';
import type { Report } from '../output/report.ts';
import type { Writer } from '../output/writer.ts';

/** Shows a request instead of sending it: the body byte for byte, the rest on stderr; as JSON all in one object. */
export async function showDryRun(prepared: Prepared, json: boolean, writer: Writer, report: Report): Promise<void> {
  const { operation, url, headers, isLocal } = prepared;
  const scheme = operation.auth === 'basic' ? 'Basic ' : 'Bearer ';
  const lines = shownHeaders(isLocal ? headers : [...headers, ['Authorization', scheme]]);
  const address = url?.href ?? `{base_url}${operation.path}`;
  if (json) {
    const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
    const request = { method: 'POST', url: address, headers: Object.fromEntries(pairs) };
    await writer.write(`${writeJson(request).slice(0, -1)},"body":`);
    await writeBody(prepared, writer, true);
    await writer.write('}\n');
  } else {
    for (const line of [`POST ${address}`, ...lines]) await report.line(line);
    await writeBody(prepared, writer, false);
  }
}

async function writeBody({ body, draft, operation }: Prepared, writer: Writer, isInside: boolean): Promise<void> {
  if (body instanceof Uint8Array) {
    const shown = withoutSecrets(draft, operation, () => '[hidden]');
    await writer.write(isInside ? shown.toString().trim() : shown);
  } else for await (const piece of body.pieces()) await writer.write(piece);
}
