import { Buffer } from 'node:buffer';
import { inspect } from 'node:util';
import { Failure } from '../../errors.ts';
import { REDACTED } from '../../output/redaction.ts';

/** A value that cannot be printed by accident: as text, as JSON and when inspected it is `[redacted]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the one place that sends or stores it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

export type AuthScheme = 'basic' | 'bearer';

/** The value of the Authorization header, and the secrets in it, which all output redacts. */
export interface Credential {
  readonly authorization: Secret;
  readonly secrets: readonly string[];
}

/**
 * The value of an Authorization header for Basic: base64 of UTF-8 `user:password`; the password may be empty. Throws Failure
 * `credentials` for a `:` in the user name, and for control characters, which RFC 7617 forbids.
 */
export function basicAuthorization(username: string, password: string): string {
  if (username.includes(':'))
    throw new Failure('credentials', 'the user name contains ":", which Basic authentication does not allow', {
      hint: 'check --username, SVC_USERNAME, or the profile',
      applied: 'no',
    });
  for (const [what, text] of Object.entries({ 'user name': username, password }))
    if ([...text].some((character) => character < ' ' || character === '\x7f'))
      throw new Failure('credentials', `the ${what} contains a control character, such as a line break`, {
        hint: 'one final line break is removed; check the file or stdin for others',
        applied: 'no',
      });
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** The value of an Authorization header for Bearer; `source` names the token. Throws Failure `credentials` for characters that a header cannot carry. */
export function bearerAuthorization(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  const message = `the token from ${source} is empty or contains characters that an HTTP header cannot contain`;
  const hint = 'only printable ASCII characters without spaces are allowed';
  throw new Failure('credentials', message, { hint, applied: 'no' });
}
