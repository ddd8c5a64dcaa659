import type { JsonPath } from '../../json/json-path.ts';
import type { LintKind } from './lint-kinds.ts';

/** Something that is likely a mistake, and where. */
export interface LintFinding {
  readonly kind: LintKind;
  /** `groups.jsonl:12:7`. */
  readonly at: string;
  /** `trajectory_groups[3].trajectories[17].reward`. */
  readonly path: string;
  readonly message: string;
}

/** Says what was found in a trajectory: at which offset of its text, and at which path inside it. */
export type FindingCallback = (kind: LintKind, offset: number, path: JsonPath, message: string) => void;

/** Gathers findings: of each kind the first hundred, and how many there are. */
export interface LintFindings {
  /** `tell` is asked only for what will be told. */
  readonly add: (kind: LintKind, describe: () => Omit<LintFinding, 'kind'>) => void;
  /** Those of a kind that are told, in the order they were found. */
  readonly examplesOf: (kind: LintKind) => readonly LintFinding[];
  readonly count: (kind: LintKind) => number;
}

// Of each kind: enough to see what is wrong.
const MAX_EXAMPLES_PER_KIND = 100;

/** Findings of which there are none yet. */
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
