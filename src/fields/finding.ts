import { createLineRanges } from '../files/split-lines.ts';
import { type JsonNode, type JsonPath, startOffset } from '../json/json-node.ts';
import type { AcceptedFields, Fields } from './field.ts';

/** A problem in a body or response. An error violates the interface; a warning is valid but likely a mistake. */
export interface Finding {
  readonly path: JsonPath;
  readonly level: 'error' | 'warning';
  readonly code:
    | 'missing'
    | 'null'
    | 'invalid'
    | 'excluded'
    | 'tolerated'
    | 'advice'
    | 'large'
    /** One server rejects it, after it has changed its data (docs/internals/servers.md). */
    | 'rule'
    | 'unwise'
    | 'unknown'
    | 'deprecated'
    | 'duplicate';
  readonly message: string;
  /** The message if the value came from a flag, which cannot express every value of a body. */
  readonly flagMessage?: string;
  /** The message without what is for users of the command line and about servers in general, if it has any of that. */
  readonly fact?: string;
  /** The number of further findings of its kind that are only counted; the message states it. */
  readonly more?: number;
}

/** A finding whose message is created only if it is reported: a body may have a million findings. */
export interface PendingFinding extends Pick<Finding, 'level' | 'code'> {
  /** The offset of the value, or, for a missing field, of its object. */
  readonly offset: number;
  /** Of several findings with the same text, the first one is reported. */
  readonly sameAs?: string;
  readonly describe: () => Pick<Finding, 'path' | 'message' | 'flagMessage' | 'fact'>;
}

export interface BodyRequirements {
  readonly body: Fields;
  /** Fields of the body that existing servers accept, and the interface does not list (docs/internals/servers.md). */
  readonly accepted?: AcceptedFields;
  /** Fields of the bodies of other APIs, and what to write instead. */
  readonly foreign?: { readonly [name: string]: string };
  readonly rules?: BodyRules;
}

/** Returns the rules of existing servers about several fields that a body breaks (docs/internals/servers.md). */
export type BodyRules = (body: JsonNode) => Iterable<BrokenRule>;

/** A rule that a body breaks: the path of the value, or of the field that is missing. The default `code` is `advice`. */
export type BrokenRule = Pick<Finding, 'path' | 'message'> & Partial<Pick<Finding, 'code'>>;

/** A warning about a value; the one about a missing field belongs to its object. */
export function pendingWarning(code: Finding['code'], node: JsonNode, describe: PendingFinding['describe']) {
  return { level: 'warning' as const, code, offset: startOffset(node), describe };
}

const MAX_FINDINGS_PER_KIND = 100;

type ReportedFinding<T> = T & Pick<Finding, 'level' | 'code' | 'message' | 'more'>;

/**
 * Keeps findings in the order added: the first of the same and the first hundred of each kind. Counts the others, and with
 * their lines says where they are.
 */
export function createFindingCollector<T extends { readonly message: string }>() {
  interface Entry {
    readonly finding: ReportedFinding<T>;
    readonly lines: ReturnType<typeof createLineRanges>;
    more: number;
  }
  const reported: Entry[] = [];
  const byKind = new Map<string, Entry[]>();
  const byText = new Map<string, Entry>();
  return {
    add: (
      { level, code, sameAs = '' }: Pick<PendingFinding, 'level' | 'code' | 'sameAs'>,
      describe: () => T,
      line?: number,
    ): void => {
      const ofKind = byKind.get(level + code) ?? [];
      const counter = byText.get(sameAs) ?? ofKind[MAX_FINDINGS_PER_KIND - 1];
      if (counter) {
        counter.more += 1;
        if (line !== undefined) counter.lines.add(line);
        return;
      }
      const entry = { finding: { ...describe(), level, code }, lines: createLineRanges(), more: 0 };
      if (line !== undefined) entry.lines.add(line);
      reported.push(entry);
      byKind.set(level + code, [...ofKind, entry]);
      if (sameAs !== '') byText.set(sameAs, entry);
    },
    findings: (): ReportedFinding<T>[] =>
      reported.map(({ finding, lines, more }) => {
        const places = lines.count() > 1 ? `: lines ${lines.format()}` : '';
        return more === 0
          ? finding
          : { ...finding, message: `${finding.message} (and ${more} more like this${places})`, more };
      }),
  };
}

export function firstOfEachKind(pendingFindings: readonly PendingFinding[]): Finding[] {
  const collector = createFindingCollector<Omit<Finding, 'level' | 'code' | 'more'>>();
  for (const pending of [...pendingFindings].sort((left, right) => left.offset - right.offset))
    collector.add(pending, pending.describe);
  return collector.findings();
}
