import type { Path } from '../json/path.ts';
import type { Kind } from './kinds.ts';

/** Something that is likely a mistake, and where. */
export interface LintFinding {
  readonly kind: Kind;
  /** `groups.jsonl:12:7`. */
  readonly at: string;
  /** `trajectory_groups[3].trajectories[17].reward`. */
  readonly path: string;
  readonly message: string;
}

/** Says what was found in a trajectory: at which offset of its text, and at which path inside it. */
export type Remark = (kind: Kind, offset: number, path: Path, message: string) => void;

/** Gathers findings: of each kind the first hundred, and how many there are. */
export interface Findings {
  /** `tell` is asked only for what will be told. */
  readonly add: (kind: Kind, tell: () => Omit<LintFinding, 'kind'>) => void;
  /** Those of a kind that are told, in the order they were found. */
  readonly told: (kind: Kind) => readonly LintFinding[];
  readonly count: (kind: Kind) => number;
}

// Of each kind: enough to see what is wrong.
const MOST_TOLD = 100;

/** Findings of which there are none yet. */
export function noFindings(): Findings {
  const found = new Map<Kind, { count: number; readonly first: LintFinding[] }>();
  return {
    add: (kind, tell) => {
      const same = found.get(kind) ?? { count: 0, first: [] };
      found.set(kind, same);
      same.count += 1;
      if (same.count <= MOST_TOLD) same.first.push({ kind, ...tell() });
    },
    told: (kind) => found.get(kind)?.first ?? [],
    count: (kind) => found.get(kind)?.count ?? 0,
  };
}
