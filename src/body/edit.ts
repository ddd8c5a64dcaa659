import type { StringOrBytes } from '../json/apply-splices.ts';
import type { JsonNode } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import type { JsonSource } from './json-source.ts';

/** Where a value came from: what to call it, and the source it stands in if it is JSON of its own. */
export interface ValueOrigin {
  readonly label: string;
  readonly source?: JsonSource;
  /** The value within the source; all of it if absent. */
  readonly node?: JsonNode | undefined;
}

/** A value to put into the body: JSON, at a path. */
export interface Edit {
  readonly path: JsonPath;
  readonly text: StringOrBytes;
  readonly origin: ValueOrigin;
  /** Of a list that was put together, where each element came from. */
  readonly items?: readonly ValueOrigin[];
}
