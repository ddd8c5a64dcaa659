import { type Prepared, withoutSecrets } from '../call/prepared.ts';
import { shownHeaders } from '../http/trace.ts';
import { RawJson, writeJson } from '../json/write.ts';
import type { Report } from '../output/report.ts';
import type { Writer } from '../output/writer.ts';

/** Shows a request instead of sending it: the body byte for byte, the rest on stderr; as JSON all in one object. */
export async function showDryRun(prepared: Prepared, json: boolean, writer: Writer, report: Report): Promise<void> {
  const { operation, url, headers, draft, isLocal } = prepared;
  const scheme = operation.auth === 'basic' ? 'Basic ' : 'Bearer ';
  const lines = shownHeaders(isLocal ? headers : [...headers, ['Authorization', scheme]]);
  const address = url?.href ?? `{base_url}${operation.path}`;
  const body = withoutSecrets(draft, operation, () => '[hidden]');
  if (json) {
    const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
    const request = {
      method: 'POST',
      url: address,
      headers: Object.fromEntries(pairs),
      body: new RawJson(body.toString().trim()),
    };
    await writer.write(`${writeJson(request)}\n`);
  } else {
    for (const line of [`POST ${address}`, ...lines]) await report.line(line);
    await writer.write(body);
  }
}
