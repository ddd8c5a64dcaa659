import type { Failure } from '../errors.ts';
import type { JsonDocument } from '../json/parse-json.ts';

/** A complete response: its bytes, and its JSON or the failure of a response that breaks the interface. */
export interface ParsedResponse {
  readonly bytes: Buffer;
  readonly doc: JsonDocument | undefined;
  readonly failure: Failure | undefined;
}
