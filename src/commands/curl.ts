import { asksForStream, type Prepared, withoutSecrets } from '../call/prepared.ts';
import type { Context } from '../cli/context.ts';
import { isSecretHeader } from '../http/trace.ts';

// A single argument of a command may have 128 KiB on Linux; longer bodies go through stdin.
const LONGEST_ARGUMENT = 100_000;

/** Prints a request as a curl command that a shell can run; secrets are variables of that shell. */
export async function showCurl(prepared: Prepared, { stdout }: Context): Promise<void> {
  const { operation, url, headers, draft } = prepared;
  const body = withoutSecrets(draft, operation, (name) => reference(name)).toString();
  const isLong = body.length > LONGEST_ARGUMENT && body === draft.doc.bytes.toString();
  const lines = [
    `curl -sS${asksForStream(draft) ? ' -N' : ''} ${url ? quoted(url.href) : `"$SVC_BASE_URL"${quoted(operation.path)}`}`,
    operation.auth === 'basic' ? '-u "$SVC_USERNAME:$SVC_PASSWORD"' : '-H "Authorization: Bearer $SVC_TOKEN"',
    ...headers.map(([name, value]) =>
      isSecretHeader(name) ? `-H "${name}: $${variable(name)}"` : `-H ${quoted(`${name}: ${value}`)}`,
    ),
    isLong ? `--data-binary @- <<'SVC_BODY'\n${body}\nSVC_BODY` : `--data-binary ${withReferences(body)}`,
  ];
  await stdout.write(`${lines.join(' \\\n  ')}\n`);
  await stdout.end();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// A mark that no text of a body has, where a variable is to be read by the shell.
const MARK = '\u0001';

function reference(name: string): string {
  return `${MARK}SVC_${name.toUpperCase()}${MARK}`;
}

function withReferences(body: string): string {
  return quoted(body).replace(/\\u0001(SVC_\w+)\\u0001/g, `'"$$$1"'`);
}

function variable(header: string): string {
  return header.toUpperCase().replace(/\W/g, '_');
}
