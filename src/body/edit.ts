import type { JsonNode } from '../json/node.ts';
import type { Path } from '../json/path.ts';
import type { Text } from '../json/splice.ts';
import type { Source } from './source.ts';

/** Where a value came from: what to call it, and the source it stands in if it is JSON of its own. */
export interface Origin {
  readonly label: string;
  readonly source?: Source;
  /** The value within the source; all of it if absent. */
  readonly node?: JsonNode | undefined;
}

/** A value to put into the body: JSON, at a path. */
export interface Edit {
  readonly path: Path;
  readonly text: Text;
  readonly origin: Origin;
  /** Of a list that was put together, where each element came from. */
  readonly items?: readonly Origin[];
}
