import { createHash } from 'node:crypto';
import type { BodyDigest } from './body-digest.ts';

/** What bytes measure that are all there. */
export function digestBytes(bytes: Uint8Array): BodyDigest {
  return { bytes: bytes.length, digest: createHash('sha256').update(bytes).digest('hex') };
}
