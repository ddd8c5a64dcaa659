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
  /** How many more there are of its kind that are not told; its message says so. */
  readonly more?: number;
}

/** A finding before it is told: a body may have a million, and nobody reads that many. */
export interface Remark extends Pick<Finding, 'level' | 'code'> {
  /** The offset of the value it is about; what is missing belongs where its object begins. */
  readonly at: number;
  readonly tell: () => Pick<Finding, 'path' | 'message'>;
}

// Of each kind: enough to see what is wrong.
const MOST_TOLD = 100;

/** What is kept of findings: what was told of each, and how many more there are. */
export type Kept<T> = T & Pick<Finding, 'level' | 'code' | 'message' | 'more'>;

/** Findings without end, as they come: of each kind the first hundred are told and kept, the others only counted. */
export interface Tally<T> {
  /** How many there are. */
  readonly count: () => number;
  readonly add: (kind: Pick<Remark, 'level' | 'code'>, tell: () => T) => void;
  /** Those that are kept, in the order they came. */
  readonly kept: () => Kept<T>[];
}

/** A tally of nothing yet. */
export function newTally<T extends { readonly message: string }>(): Tally<T> {
  const counts = new Map<string, number>();
  const first: { readonly kind: string; readonly number: number; readonly finding: Kept<T> }[] = [];
  return {
    count: () => Array.from(counts.values()).reduce((sum, count) => sum + count, 0),
    add: ({ level, code }, tell) => {
      const kind = `${level} ${code}`;
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      if (number <= MOST_TOLD) first.push({ kind, number, finding: { ...tell(), level, code } });
    },
    kept: () =>
      first.map(({ kind, number, finding }) => {
        const more = number === MOST_TOLD ? (counts.get(kind) ?? 0) - MOST_TOLD : 0;
        return more === 0 ? finding : { ...finding, message: `${finding.message} (and ${more} more like this)`, more };
      }),
  };
}

/** The findings of some remarks in the order of the text: of each kind the first hundred, and how many more there are. */
export function told(remarks: readonly Remark[]): Finding[] {
  const tally = newTally<Pick<Finding, 'path' | 'message'>>();
  for (const remark of [...remarks].sort((left, right) => left.at - right.at)) tally.add(remark, remark.tell);
  return tally.kept();
}
