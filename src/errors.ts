/** The exit codes of svc (PRODUCT.md section 6): their meaning, and whether running the same again makes sense. */
export const exitCodes = {
  done: { code: 0, meaning: 'done', retry: '' },
  bug: { code: 1, meaning: 'a bug in svc', retry: '' },
  usage: { code: 2, meaning: 'the command line or the environment is wrong', retry: 'after mending' },
  body: { code: 3, meaning: 'the body is wrong; nothing was applied', retry: 'after mending' },
  credentials: { code: 4, meaning: 'credentials are missing or were refused (401, 403)', retry: 'after mending' },
  refused: { code: 5, meaning: 'the service refused it (other 3xx and 4xx); not applied', retry: 'no use' },
  failed: {
    code: 6,
    meaning: 'the service failed (500, 501, 503 without Retry-After, other 5xx); applied unknown',
    retry: 'if a repeat does no harm',
  },
  unreachable: {
    code: 7,
    meaning: 'the service could not be reached, or the request did not leave completely; not applied',
    retry: 'yes',
  },
  unknown: {
    code: 8,
    meaning: 'outcome unknown: sent, but the answer was lost, timed out, or was 502, 504 or 52x',
    retry: 'if a repeat does no harm',
  },
  limited: {
    code: 9,
    meaning: 'rate limited or unavailable (408, 421, 425, 429, 503 with Retry-After); not applied',
    retry: 'later',
  },
  partial: { code: 10, meaning: 'some lines of a batch failed', retry: 'the failed ones' },
  answer: { code: 11, meaning: 'the answer broke the interface, or a stream was cut', retry: '' },
  local: { code: 12, meaning: 'a local file, pipe or disk failed', retry: 'after mending' },
  guard: {
    code: 13,
    meaning: 'refused by a guard: plain http with a credential, a duplicate job, a failed expectation',
    retry: '',
  },
  interrupted: { code: 130, meaning: 'interrupted (Ctrl-C)', retry: 'as 8 if sent' },
  terminated: { code: 143, meaning: 'terminated', retry: 'as 8 if sent' },
} as const;

export type FailureCode = Exclude<keyof typeof exitCodes, 'done'>;

export type AppliedState = 'no' | 'yes' | 'unknown';

/** One finding as the user sees it: where the value came from, its path in the body, and what is wrong. */
export interface Issue {
  readonly path: string;
  readonly at: string;
  readonly message: string;
}

/** What is known about a failure beyond its message; the members of the JSON error of the same names. */
export interface FailureFacts {
  readonly hint?: string | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly applied?: AppliedState | undefined;
  /** How far the request of the last attempt had come. */
  readonly phase?: 'nothing' | 'part' | 'all' | undefined;
  /** Bytes of its body that were handed over. */
  readonly bytesSent?: number | undefined;
  /** Milliseconds the service asked to wait. */
  readonly retryAfter?: number | undefined;
  /** The same request will fail again for the same reason. */
  readonly isPermanent?: boolean | undefined;
  /** An answer had begun and broke off. */
  readonly isTruncated?: boolean | undefined;
  readonly attempts?: number | undefined;
  readonly ids?: { readonly [name: string]: string } | undefined;
  readonly issues?: readonly Issue[] | undefined;
}

/** A failure that is told to the user. Thrown anywhere, caught once in main, printed once; its code decides the exit. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  readonly facts: FailureFacts;

  constructor(code: FailureCode, message: string, facts: FailureFacts = {}) {
    super(message);
    this.code = code;
    this.facts = facts;
  }

  /** The exit code of the process. */
  get exitCode(): number {
    return exitCodes[this.code].code;
  }
}

/** A command line that is wrong (exit 2); the hint says how to write it. */
export function usageFailure(message: string, hint?: string): Failure {
  return new Failure('usage', message, { hint });
}

/** Whatever was thrown as a Failure: what nobody foresaw is a bug. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof InterruptedError)
    return new Failure(error.code, `${error.message}; nothing was sent`, { applied: 'no' });
  if (isOutOfFileDescriptors(error))
    return new Failure('local', 'the process may not open as many files as svc needs', {
      hint: 'raise ulimit -n to 64',
    });
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Failure('bug', `this is a bug in svc: ${text}`, {
    hint: 'please report it with the command line that led to it',
  });
}

function isOutOfFileDescriptors(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

/** The user or the system asked the process to end. */
export class InterruptedError extends Error {
  override readonly name = 'Interrupted';
  readonly code: 'interrupted' | 'terminated';

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super(signal === 'SIGINT' ? 'interrupted' : 'terminated');
    this.code = signal === 'SIGINT' ? 'interrupted' : 'terminated';
  }
}
