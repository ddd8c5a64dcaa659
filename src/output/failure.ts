import { exitCodes, type Failure, type Issue } from '../errors.ts';
import { type Json, writeJson } from '../json/write.ts';

// The most characters of one message that are shown; a server may echo a whole request.
const LONGEST = 900;

/** A failure as lines for people, each text of it passed through `clean`. */
export function failureText({ message, facts }: Failure, clean: (text: string) => string): string {
  const { hint, issues = [], ids = {} } = facts;
  const lines = [`svc: ${shown(message, clean)}`];
  for (const { at, path, message: text } of issues)
    lines.push(`  ${shown([at, path].filter((part) => part !== '').join(' '), clean)}: ${shown(text, clean)}`);
  for (const [name, id] of Object.entries(ids)) lines.push(`  ${name}: ${clean(id)}`);
  if (hint) lines.push(`  ${clean(hint)}`);
  return `${lines.join('\n')}\n`;
}

/** A failure as one JSON object (PRODUCT.md section 6), each text of it passed through `clean`. */
export function failureJson(failure: Failure, clean: (text: string) => string): string {
  return writeJson({ error: failureMembers(failure, clean) });
}

/** What the JSON of a failure says of it. */
export function failureMembers(
  failure: Failure,
  clean: (text: string) => string,
): { readonly [name: string]: Json | undefined } {
  const { message, code, exitCode, facts } = failure;
  const { hint, status, requestId, applied = 'no', phase, bytesSent, attempts = 0, ids = {}, issues = [] } = facts;
  const { again } = exitCodes[code];
  return {
    code,
    message: shown(message, clean),
    hint: hint === undefined ? undefined : clean(hint),
    exit_code: exitCode,
    status,
    request_id: requestId === undefined ? undefined : shown(requestId, clean),
    retryable: again === 'yes' || again === 'later',
    applied,
    phase,
    bytes_sent: bytesSent,
    attempts,
    ids: Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, clean(id)])),
    issues: issues.map(({ path, at, message: text }) => ({
      path: shown(path, clean),
      at: shown(at, clean),
      message: shown(text, clean),
    })),
  };
}

/** An issue on one line: where, and what. */
export function issueText({ at, path, message }: Issue): string {
  return `${[at, path].filter((part) => part !== '').join(' ')}: ${message}`;
}

// Cut after it is cleaned: half a secret would not be recognised.
function shown(text: string, clean: (text: string) => string): string {
  const whole = clean(text);
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
}
