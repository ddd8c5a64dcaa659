import type { JsonPath } from '../../json/json-node.ts';
import type { LintKind } from './lint-kinds.ts';

/** A likely mistake and its location. */
export interface LintFinding {
  readonly kind: LintKind;
  /** `groups.jsonl:12:7`. */
  readonly at: string;
  /** `trajectory_groups[3].trajectories[17].reward`. */
  readonly path: string;
  readonly message: string;
}

/** Reports a finding in a trajectory, with the offset in its text and the path inside it. */
export type FindingCallback = (kind: LintKind, offset: number, path: JsonPath, message: string) => void;

/** Collects findings: the first 100 of each kind, and how many there are. */
export interface LintFindings {
  /** Calls `describe` only for findings that are kept. */
  readonly add: (kind: LintKind, describe: () => Omit<LintFinding, 'kind'>) => void;
  /** The kept findings of a kind, in the order they were found. */
  readonly examplesOf: (kind: LintKind) => readonly LintFinding[];
  readonly count: (kind: LintKind) => number;
}

// Enough to see what is wrong.
const MAX_EXAMPLES_PER_KIND = 100;

/** An empty collection. */
export function createLintFindings(): LintFindings {
  const findingsByKind = new Map<LintKind, { count: number; readonly examples: LintFinding[] }>();
  return {
    add: (kind, describe) => {
      const same = findingsByKind.get(kind) ?? { count: 0, examples: [] };
      findingsByKind.set(kind, same);
      same.count += 1;
      if (same.count <= MAX_EXAMPLES_PER_KIND) same.examples.push({ kind, ...describe() });
    },
    examplesOf: (kind) => findingsByKind.get(kind)?.examples ?? [],
    count: (kind) => findingsByKind.get(kind)?.count ?? 0,
  };
}
