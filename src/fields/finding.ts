import type { JsonPath } from '../json/json-path.ts';

/** Something wrong with a body or reply. An error breaks the interface; a warning is legal but likely a mistake. */
export interface Finding {
  readonly path: JsonPath;
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
export interface PendingFinding extends Pick<Finding, 'level' | 'code'> {
  /** The offset of the value it is about; what is missing belongs where its object begins. */
  readonly offset: number;
  readonly describe: () => Pick<Finding, 'path' | 'message'>;
}

// Of each kind: enough to see what is wrong.
const MAX_FINDINGS_PER_KIND = 100;

/** What is kept of findings: what was told of each, and how many more there are. */
export type ReportedFinding<T> = T & Pick<Finding, 'level' | 'code' | 'message' | 'more'>;

/** Findings without end, as they come: of each kind the first hundred are told and kept, the others only counted. */
export interface FindingCollector<T> {
  /** How many there are. */
  readonly count: () => number;
  readonly add: (kind: Pick<PendingFinding, 'level' | 'code'>, tell: () => T) => void;
  /** Those that are kept, in the order they came. */
  readonly findings: () => ReportedFinding<T>[];
}

/** A tally of nothing yet. */
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

/** The findings of some remarks in the order of the text: of each kind the first hundred, and how many more there are. */
export function firstOfEachKind(pendingFindings: readonly PendingFinding[]): Finding[] {
  const collector = createFindingCollector<Pick<Finding, 'path' | 'message'>>();
  for (const pending of [...pendingFindings].sort((left, right) => left.offset - right.offset))
    collector.add(pending, pending.describe);
  return collector.findings();
}
