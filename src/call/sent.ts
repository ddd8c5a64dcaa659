import type { Draft } from '../body/draft.ts';
import { noProgress, type Progress } from '../http/progress.ts';
import { rootOf } from '../json/node.ts';
import type { Operation } from '../operations/operation.ts';
import { effectOf, idsIn } from './effect.ts';

/** A request that was made, for telling what became of it. */
export interface Sent {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly effect: Operation['effect'];
  readonly ids: { readonly [what: string]: string };
  readonly progress: Progress;
}

/** What is known of a request before it leaves. */
export function toBeSent(operation: Operation, draft: Draft): Sent {
  const body = rootOf(draft.doc);
  return { operation, draft, effect: effectOf(operation, body), ids: idsIn(operation, body), progress: noProgress() };
}
