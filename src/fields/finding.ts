import type { Path } from '../json/path.ts';

/** Something wrong with a body or reply. An error breaks the interface; a warning is legal but likely a mistake. */
export interface Finding {
  readonly path: Path;
  readonly level: 'error' | 'warning';
  readonly code:
    | 'missing'
    | 'invalid'
    | 'excluded'
    | 'advice'
    | 'large'
    | 'unwise'
    | 'unknown'
    | 'deprecated'
    | 'duplicate';
  readonly message: string;
}
