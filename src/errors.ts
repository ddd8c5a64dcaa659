import type { Resemblance } from './json/json-error.ts';
import type { ReceivedFacts } from './operations/received-facts.ts';

const FIX_INPUT = 'after fixing the input';
const RETRY_IF_SAFE = 'only if the request is safe to retry';
const AS_UNKNOWN = 'as 8 if the request was sent';

/** The exit codes of svc (docs/internals/contract.md): what each means, and whether to run the same command again. */
export const exitCodes = {
  done: exitCode(0, 'done', ''),
  bug: exitCode(1, 'a bug in svc', ''),
  usage: exitCode(2, 'the command line or environment is invalid', FIX_INPUT),
  body: exitCode(3, 'the body is invalid; nothing was sent', FIX_INPUT),
  credentials: exitCode(4, 'credentials are missing or were rejected (401, 403)', FIX_INPUT),
  refused: exitCode(
    5,
    'the service rejected the request (other 3xx and 4xx); not applied, but unknown for most 4xx of feedback replace',
    'no',
  ),
  failed: exitCode(
    6,
    'the service failed (500, 501, 503 without Retry-After, other 5xx); the request may have been applied',
    RETRY_IF_SAFE,
  ),
  unreachable: exitCode(7, 'could not connect, or the request was not sent completely; not applied', 'yes'),
  unknown: exitCode(
    8,
    'outcome unknown: sent, but the response was lost, timed out, or was 502, 504 or 52x',
    RETRY_IF_SAFE,
  ),
  rate_limited: exitCode(
    9,
    'rate limited or unavailable (408, 421, 425, 429, 503 with Retry-After or a proof) after all retries; not applied',
    'later',
  ),
  partly_failed: exitCode(10, 'some lines of a batch failed', 'yes, with --resume; unknown lines with --retry-unknown'),
  invalid_response: exitCode(
    11,
    'invalid response, or a stream was cut; the request was applied (an error in place of a result, or an HTML page: unknown)',
    'no',
  ),
  local_file: exitCode(12, 'a local file, pipe or disk failed', FIX_INPUT),
  safety_check: exitCode(
    13,
    'stopped by a safety check: duplicate job, insecure transport, failed expectation, a limit that cannot be kept, or an output of another batch',
    'after reviewing the cause',
  ),
  hangup: exitCode(129, 'the terminal was closed (SIGHUP)', AS_UNKNOWN),
  interrupted: exitCode(130, 'interrupted (SIGINT, Ctrl-C)', AS_UNKNOWN),
  terminated: exitCode(143, 'terminated (SIGTERM)', AS_UNKNOWN),
} as const;

/** With which a command ends that runs another one, if it could not be run: the codes of a shell. */
export const childExitCodes = {
  notExecutable: exitCode(126, 'the command cannot be executed', FIX_INPUT),
  notFound: exitCode(127, 'the command was not found', FIX_INPUT),
} as const;

function exitCode(code: number, meaning: string, retry: string) {
  return { code, meaning, retry };
}

export type FailureCode = Exclude<keyof typeof exitCodes, 'done'>;

export type AppliedState = 'no' | 'yes' | 'unknown';

/** The effect of sending a request again: none, none with the same key, another charge, or a second record. */
export type Effect = 'read' | 'keyed' | 'paid' | 'once';

/** What is known about a request after its last attempt. */
export interface RequestOutcome {
  readonly applied: AppliedState;
  readonly exitCode: number;
  readonly id: string | undefined;
}

/** Where a value came from: a file as typed, `stdin` or a flag, and the position in it; in column 0, a row of a table. */
export interface Place {
  readonly label: string;
  readonly line?: number;
  readonly column?: number;
}

/** One finding as the user sees it: where the value came from, its path in the body, and what is wrong. */
export interface Issue {
  readonly path: string;
  readonly at?: Place | undefined;
  readonly message: string;
  /** The line of a syntax error as text shows it, and the offset of the error in it. */
  readonly excerpt?: { readonly line: string; readonly offset: number };
  /** What a text that is not JSON seems to be. */
  readonly resembles?: Resemblance;
}

/** What is known about the request and its last attempt. */
interface ExchangeFacts {
  readonly url?: string | undefined;
  readonly status?: number | undefined;
  /** What the service says about the response, by name; shown as it is. */
  readonly received?: ReceivedFacts | undefined;
  readonly applied?: AppliedState | undefined;
  /** Undefined for a failure of anything else than a request. */
  readonly effect?: Effect | undefined;
  /** The key of the request was made by svc: the same command makes another one. */
  readonly hasGeneratedKey?: boolean | undefined;
  /** How much of the request was sent. */
  readonly phase?: 'nothing' | 'part' | 'all' | undefined;
  readonly bytesSent?: number | undefined;
  /** How long the service asked to wait. */
  readonly retryAfterMs?: number | undefined;
  /** The same request will fail again for the same reason. */
  readonly isPermanent?: boolean | undefined;
  readonly isTimedOut?: boolean | undefined;
  /** The response proves that the service had no room for the request, whatever its status. */
  readonly isProvenRefusal?: boolean | undefined;
  readonly isTruncated?: boolean | undefined;
  readonly attempts?: number | undefined;
  readonly ids?: { readonly [name: string]: string } | undefined;
}

/** What is wrong with the body. */
interface BodyFacts {
  readonly issues?: readonly Issue[] | undefined;
}

/** The checks that stop with exit code 13, each with what it found; in JSON the `cause` of an error. */
export const safetyCauses = {
  duplicate_job: 'the same training job was sent before',
  insecure_transport: 'a credential would go over plain http, or certificates are not checked',
  expectation: 'a response or file is not as `--expect-…`, `--expect`, `--extract` or `--fail-on` demands',
  limit: 'a limit cannot be kept',
  in_use: 'another process uses the file',
  other_batch: 'an output belongs to another batch',
  changed_input: 'the input is not the one that was sent',
  unsafe_file: 'a file is damaged, or others could change it',
  unrecorded_request: '`svc serve --replay` lacks a request',
} as const;

export type SafetyCause = keyof typeof safetyCauses;

/** What the user reads besides the message. */
interface AdviceFacts {
  readonly cause?: SafetyCause | undefined;
  readonly hint?: string | undefined;
  /** The message without the details that the service sent, for the line that announces a retry. */
  readonly summary?: string | undefined;
  /** Why no connection was made, without the service. */
  readonly reason?: string | undefined;
  /** A failure of a batch or a chat session, with several requests: no sentence about one request is added. */
  readonly isBatch?: boolean | undefined;
  /** Why a batch ended before its last line. */
  readonly stopped?: string | undefined;
  /** Of an incomplete body: nothing came over stdin, and no prompt or file was given. */
  readonly isStdinEmpty?: boolean | undefined;
}

/** The facts about a failure besides its message; the fields of the same names in the JSON error. */
export interface FailureFacts extends ExchangeFacts, BodyFacts, AdviceFacts {}

// Failures of these codes come before anything is sent, or with a proof.
const UNAPPLIED_CODES: readonly string[] = ['body', 'credentials'];

/** A failure that svc reports to the user. Thrown anywhere, caught once in main, printed once; its code decides the exit. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  readonly facts: FailureFacts;
  readonly resend: Resend;

  constructor(code: FailureCode, message: string, facts: FailureFacts = {}) {
    super(message);
    this.code = code;
    this.facts = UNAPPLIED_CODES.includes(code) ? { applied: 'no', ...facts } : facts;
    this.resend = decideResend(code, facts);
  }

  get exitCode(): number {
    return exitCodes[this.code].code;
  }

  with(facts: FailureFacts, message = this.message): Failure {
    return new Failure(this.code, message, { ...this.facts, ...facts });
  }
}

/** Whether a failed request may be sent again (docs/internals/contract.md, section 7). */
interface Resend {
  /** svc may retry it. */
  readonly isRetryable: boolean;
  /** Running the same command again is safe and can succeed. */
  readonly canRerun: boolean;
  /** What running it again can cause; undefined where that is no question. */
  readonly advice: string | undefined;
}

// A longer wait is not a transient shortage (docs/internals/servers.md): svc reports when to retry instead.
const MAX_RETRY_AFTER_MS = 60_000;

/** Decides by the effect of the request and the facts about its last attempt, never by the name of an error. */
function decideResend(code: FailureCode, facts: FailureFacts): Resend {
  const { effect, applied = 'no', status, phase, isPermanent, isTruncated = false, retryAfterMs = 0 } = facts;
  const isSafe = effect === 'read' || effect === 'keyed';
  // An operation that a service has not implemented fails again.
  const hasFailed = (code === 'failed' || code === 'unknown') && status !== 501;
  const { retry } = exitCodes[code];
  const canSucceed = retry === 'yes' || retry === 'later' || (retry === RETRY_IF_SAFE && status !== 501);
  const isRetryable = (): boolean => {
    if (effect === undefined || isPermanent || retryAfterMs > MAX_RETRY_AFTER_MS) return false;
    // The status can be that of a proxy, which passed nothing on.
    if (code === 'unreachable' && phase === 'nothing') return true;
    if (status === undefined) return phase === 'nothing' || (isSafe && phase !== undefined);
    if (isSafe) return code === 'rate_limited' || hasFailed || isTruncated;
    return code === 'rate_limited' && applied === 'no' && (effect === 'paid' || status === 429);
  };
  const isRerunSafe = isSafe && !facts.hasGeneratedKey;
  const isOpen = applied === 'unknown' ? code !== 'refused' : isTruncated || (applied === 'yes' && retry !== 'no');
  return {
    isRetryable: isRetryable(),
    canRerun: canSucceed && applied !== 'yes' && (isRerunSafe || (applied === 'no' && retry !== RETRY_IF_SAFE)),
    advice: effect && isOpen && code !== 'safety_check' ? rerunAdvice[effect] : undefined,
  };
}

const rerunAdvice = {
  read: 'the request only reads data: run the command again',
  keyed: 'it is safe to run it again with the same ids; with other ids it may be applied twice',
  paid: 'if you run it again, you may be charged twice',
  once: 'if you run it again, it may be applied twice',
} as const satisfies Record<Effect, string>;

export const FILE_LIMIT_HINT = 'raise ulimit -n to 64';

/** Where a part in WebAssembly, which reserves gigabytes of address space, cannot start: what to say; undefined for another cause. */
export function webAssemblyFailure(part: string, error: unknown): { message: string; hint: string } | undefined {
  if (!(error instanceof Error) || !/WebAssembly/.test(rootCause(error).message)) return undefined;
  return {
    message: `${part} (WebAssembly) could not be loaded: not enough memory, or Node was started with --jitless`,
    hint: 'start Node without --jitless; with a limit on virtual memory (ulimit -v), set NODE_OPTIONS=--disable-wasm-trap-handler',
  };
}

/** The failure code with this exit code; undefined for 0 and for codes that svc does not use. */
export function failureCodeOf(exitCode: number): FailureCode | undefined {
  const entry = Object.entries(exitCodes).find(([name, { code }]) => name !== 'done' && code === exitCode);
  return entry && (entry[0] as FailureCode);
}

/** Failure `safety_check`, which always has a cause. */
export function safetyFailure(cause: SafetyCause, message: string, facts: FailureFacts = {}): Failure {
  return new Failure('safety_check', message, { ...facts, cause });
}

export function usageFailure(message: string, hint?: string): Failure {
  return new Failure('usage', message, { hint });
}

/** The usage failure of a value of the flag, variable or field that `label` names; `expected` completes "use …". */
export function invalidValueFailure(label: string, text: string, expected: string): Failure {
  return usageFailure(`${label} cannot be ${JSON.stringify(text)}`, `use ${expected}`);
}

export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // JavaScript throws if a recursion is too deep: of libraries and built-in functions, over a value from outside.
  return error.message === 'Maximum call stack size exceeded' ? 'it is nested too deeply' : error.message;
}

/** Converts any thrown value to a Failure; an unexpected error becomes Failure `bug`. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof InterruptedError)
    return new Failure(error.code, `${error.message}; nothing was sent`, { applied: 'no' });
  if (isOutOfFileDescriptors(error))
    return new Failure('local_file', 'the process may not open as many files as svc needs', { hint: FILE_LIMIT_HINT });
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  // An update that removed the files of a running svc, a disk with errors.
  if (error instanceof Error && 'code' in error && LOADER_STACK.test(text))
    return new Failure(
      'local_file',
      `a part of svc could not be loaded: ${error.message.replace(/ imported from .*/s, '')}`,
      {
        hint: 'run it again, in case svc was just updated; otherwise, install svc again',
      },
    );
  return new Failure('bug', `this is a bug in svc: ${text}`, {
    hint: 'please report it with the command line that led to it',
  });
}

// Thrown by what loads modules, or by the functions on files that it calls.
const LOADER_STACK =
  /^(?!\s+at )[^\n]*(?:\n(?!\s+at )[^\n]*)*(?:\n\s+at [^\n]*node:(?:internal\/)?fs\b[^\n]*)*\n\s+at [^\n]*node:internal\/modules\//;

function isOutOfFileDescriptors(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

export type StopSignal = keyof typeof stopSignals;

const stopSignals = { SIGINT: 'interrupted', SIGTERM: 'terminated', SIGHUP: 'hangup' } as const;

/** The signal behind a failure, which then ends the process; undefined for all other failures. */
export function signalOfFailure(code: FailureCode): { readonly signal: StopSignal } | undefined {
  const entry = Object.entries(stopSignals).find(([, ofSignal]) => ofSignal === code);
  return entry && { signal: entry[0] as StopSignal };
}

export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
  readonly code: (typeof stopSignals)[StopSignal];

  constructor(signal: StopSignal) {
    super(signal === 'SIGHUP' ? 'the terminal was closed' : stopSignals[signal]);
    this.code = stopSignals[signal];
  }
}

/** The innermost cause of an error; if several addresses failed, that of the last one. */
export function rootCause(error: Error): Error {
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause;
  return inner instanceof Error ? rootCause(inner) : error;
}

/** The code Node or OpenSSL gave an error, such as ECONNRESET; empty for none. */
export function networkErrorCode(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

/** True if the server rejected the client certificate: with TLS 1.3 only after the request was sent, which it never read. */
export function isHandshakeRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^ERR_SSL_(TLSV1|TLSV13|SSLV3)_ALERT_(.*CERTIFICATE.*|UNKNOWN_CA|ACCESS_DENIED)$/.test(
    networkErrorCode(rootCause(error)),
  );
}
