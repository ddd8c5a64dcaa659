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

/** The findings of some remarks in the order of the text: of each kind the first hundred, and how many more there are. */
export function told(remarks: readonly Remark[]): Finding[] {
  const counts = new Map<string, number>();
  const first = [...remarks]
    .sort((left, right) => left.at - right.at)
    .flatMap((remark) => {
      const kind = kindOf(remark);
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return count <= MOST_TOLD ? [{ remark, kind, count }] : [];
    });
  return first.map(({ remark: { level, code, tell }, kind, count }) => {
    const { path, message } = tell();
    const more = count === MOST_TOLD ? (counts.get(kind) ?? 0) - MOST_TOLD : 0;
    if (more === 0) return { path, level, code, message };
    return { path, level, code, message: `${message} (and ${more} more like this)`, more };
  });
}

function kindOf({ level, code }: Remark): string {
  return `${level} ${code}`;
}
