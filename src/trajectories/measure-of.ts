import { createHash } from 'node:crypto';
import type { Measure } from './measured.ts';

/** What bytes measure that are all there. */
export function measureOf(bytes: Uint8Array): Measure {
  return { bytes: bytes.length, digest: createHash('sha256').update(bytes).digest('hex') };
}
