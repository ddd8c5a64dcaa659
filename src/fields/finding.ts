import type { JsonPath } from '../json/json-path.ts';

/** A problem of a body or response. An error breaks the interface; a warning is legal but likely a mistake. */
export interface Finding {
  readonly path: JsonPath;
  readonly level: 'error' | 'warning';
  readonly code:
    | 'missing'
    | 'invalid'
    | 'excluded'
    | 'tolerated'
    | 'advice'
    | 'large'
    | 'unwise'
    | 'unknown'
    | 'deprecated'
    | 'duplicate';
  readonly message: string;
  /** The message where the value came from a flag, which cannot express everything a body can. */
  readonly flagMessage?: string;
  /** How many more findings of its kind are only counted; its message says so. */
  readonly more?: number;
}

/** A finding whose message is made only if it is reported: a body may have a million. */
export interface PendingFinding extends Pick<Finding, 'level' | 'code'> {
  /** The offset of the value it is about; of a missing field, that of its object. */
  readonly offset: number;
  readonly describe: () => Pick<Finding, 'path' | 'message' | 'flagMessage'>;
}

// Of each kind: enough to see what is wrong.
const MAX_FINDINGS_PER_KIND = 100;

/** A finding that is reported, and how many more of its kind are only counted. */
export type ReportedFinding<T> = T & Pick<Finding, 'level' | 'code' | 'message' | 'more'>;

/** Collects any number of findings: of each kind the first hundred are described and kept, the others counted. */
export interface FindingCollector<T> {
  /** How many there are. */
  readonly count: () => number;
  readonly add: (kind: Pick<PendingFinding, 'level' | 'code'>, describe: () => T) => void;
  /** Those that are kept, in the order they came. */
  readonly findings: () => ReportedFinding<T>[];
}

/** An empty collector. */
export function createFindingCollector<T extends { readonly message: string }>(): FindingCollector<T> {
  const counts = new Map<string, number>();
  const reported: { readonly kind: string; readonly number: number; readonly finding: ReportedFinding<T> }[] = [];
  return {
    count: () => Array.from(counts.values()).reduce((sum, count) => sum + count, 0),
    add: ({ level, code }, describe) => {
      const kind = `${level} ${code}`;
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      if (number <= MAX_FINDINGS_PER_KIND) reported.push({ kind, number, finding: { ...describe(), level, code } });
    },
    findings: () =>
      reported.map(({ kind, number, finding }) => {
        const more = number === MAX_FINDINGS_PER_KIND ? (counts.get(kind) ?? 0) - MAX_FINDINGS_PER_KIND : 0;
        return more === 0 ? finding : { ...finding, message: `${finding.message} (and ${more} more like this)`, more };
      }),
  };
}

/** The findings in the order of the text: of each kind the first hundred, and how many more there are. */
export function firstOfEachKind(pendingFindings: readonly PendingFinding[]): Finding[] {
  const collector = createFindingCollector<ReturnType<PendingFinding['describe']>>();
  for (const pending of [...pendingFindings].sort((left, right) => left.offset - right.offset))
    collector.add(pending, pending.describe);
  return collector.findings();
}
