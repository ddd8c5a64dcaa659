import { Buffer } from 'node:buffer';
import type { Runtime } from '../runtime.ts';

export const MAX_CODE_AGE_MS = 60_000;

/** How a browser gets credentials of its own: by a link with a code that is exchanged for a token. */
export type PageLogin = ReturnType<typeof createPageLogin>;

/** Codes and tokens are kept in memory only. */
export function createPageLogin({ elapsed, randomBytes }: Pick<Runtime, 'elapsed' | 'randomBytes'>) {
  const codes = new Map<string, { readonly createdAt: number; readonly onExchange: () => void }>();
  const tokens = new Set<string>();
  const randomSecret = (): string => Buffer.from(randomBytes(24)).toString('base64url');
  return {
    /** A code that can be exchanged once, within 60 s. */
    createCode: (onExchange: () => void): string => {
      const code = randomSecret();
      codes.set(code, { createdAt: elapsed(), onExchange });
      return code;
    },
    /** A token that reads the stored data until the service ends; undefined for a code that is not valid (any more). */
    exchange: (code: string): string | undefined => {
      const created = codes.get(code);
      codes.delete(code);
      if (!created || elapsed() - created.createdAt > MAX_CODE_AGE_MS) return undefined;
      created.onExchange();
      const token = randomSecret();
      tokens.add(token);
      return token;
    },
    accepts: (authorization: string | undefined) =>
      /^bearer /i.test(authorization ?? '') && tokens.has((authorization ?? '').slice(7)),
  };
}
