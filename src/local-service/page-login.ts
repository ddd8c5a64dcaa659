import { Buffer } from 'node:buffer';
import type { Runtime } from '../runtime.ts';

const MAX_CODE_AGE_MS = 60_000;

/** How a browser gets credentials of its own: by a link with a code that is exchanged for a token. */
export interface PageLogin {
  /** A code that can be exchanged once, within 60 s. */
  readonly createCode: () => string;
  /** A token that reads the stored data until the service ends; undefined for a code that is not valid (any more). */
  readonly exchange: (code: string) => string | undefined;
  readonly accepts: (authorization: string | undefined) => boolean;
}

/** Codes and tokens are kept in memory only. */
export function createPageLogin({ elapsed, randomBytes }: Pick<Runtime, 'elapsed' | 'randomBytes'>): PageLogin {
  const codes = new Map<string, number>();
  const tokens = new Set<string>();
  const randomSecret = (): string => Buffer.from(randomBytes(24)).toString('base64url');
  return {
    createCode: () => {
      const code = randomSecret();
      codes.set(code, elapsed());
      return code;
    },
    exchange: (code) => {
      const createdAt = codes.get(code);
      codes.delete(code);
      if (createdAt === undefined || elapsed() - createdAt > MAX_CODE_AGE_MS) return undefined;
      const token = randomSecret();
      tokens.add(token);
      return token;
    },
    accepts: (authorization) => /^bearer /i.test(authorization ?? '') && tokens.has((authorization ?? '').slice(7)),
  };
}
