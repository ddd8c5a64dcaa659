import type { Runtime } from '../runtime.ts';

/** The process that a file or a record is of. */
export interface ProcessOwner {
  readonly pid: number;
  readonly host: string;
  /** When it started, in the system's own form; undefined if that is not recorded. */
  readonly start: string | undefined;
  /** Where `pid` has a meaning (see Runtime); undefined for earlier versions, and on systems without /proc. */
  readonly scope: string | undefined;
}

export type OwnerRuntime = Pick<Runtime, 'pid' | 'host' | 'processScope' | 'isRunning' | 'processStart'>;

export function currentOwner({ pid, host, processScope, processStart }: OwnerRuntime): ProcessOwner {
  return { pid, host, start: processStart(pid), scope: processScope };
}

/** Undefined for a process that cannot be looked up from here: of another machine, boot or PID namespace. */
export function isOwnerRunning({ pid, host, start, scope }: ProcessOwner, runtime: OwnerRuntime): boolean | undefined {
  const isHere = scope === undefined ? host === runtime.host : scope === runtime.processScope;
  if (!isHere) return undefined;
  // A process that started at another time has only the same id.
  return runtime.isRunning(pid) && (start === undefined || runtime.processStart(pid) === start);
}
