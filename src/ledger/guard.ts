import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import type { LockWorld } from '../files/lock.ts';
import { member, stringIn, textOf } from '../json/node.ts';
import type { Runtime } from '../runtime.ts';
import type { Entry } from './entries.ts';
import { endLine, type Job, type Outcome, type Sender, startLine } from './job.ts';
import { inLedger } from './ledger.ts';
import { type Standing, standingOf } from './standing.ts';

/** What the guard needs of the world. */
export type GuardWorld = LockWorld & Pick<Runtime, 'now'>;

/** Tells the ledger what became of a job that was begun. Throws Failure `local` where it cannot be written. */
export type Settle = (outcome: Outcome) => Promise<void>;

/**
 * Enters a job in a ledger, durably, so that it may leave. Throws Failure `guard` where the same job was applied before,
 * may have been, or is under way, unless duplicates are allowed; one that was refused or did not leave is no reason.
 * Of many processes that ask at once for the same job only one may send it.
 */
export async function beginJob(job: Job, path: string, allowsDuplicate: boolean, world: GuardWorld): Promise<Settle> {
  const { pid, host, now, randomBytes } = world;
  const sender: Sender = { key: Buffer.from(randomBytes(8)).toString('hex'), pid, host };
  await inLedger(path, world, async ({ entries, add }) => {
    const refusal = allowsDuplicate ? undefined : refusalOf(job, entries, world);
    if (refusal) throw refusal;
    await add(startLine(job, sender, now()));
  });
  return (outcome) => inLedger(path, world, ({ add }) => add(endLine(outcome, sender, now())));
}

// Of several the last is told, which is the one a user remembers.
function refusalOf(job: Job, entries: readonly Entry[], world: GuardWorld): Failure | undefined {
  const earlier = entries.findLast((entry) => isSame(entry, job) && standingOf(entry, world) !== 'not-applied');
  if (!earlier) return undefined;
  const id = stringIn(earlier.end, 'id');
  const { message, hint } = words(earlier, standingOf(earlier, world));
  return new Failure('guard', `${message}; nothing was sent`, {
    hint: `${hint}--allow-duplicate sends it all the same`,
    applied: 'no',
    ids: id === undefined ? {} : { job: id },
  });
}

function isSame({ start }: Entry, { digest, target, model }: Job): boolean {
  return (
    stringIn(start, 'digest') === digest &&
    stringIn(start, 'target') === target &&
    stringIn(start, 'model_id') === model
  );
}

function words({ start }: Entry, standing: Standing): { readonly message: string; readonly hint: string } {
  const when = stringIn(start, 'started_at');
  const pid = member(start, 'pid');
  const who = `process ${pid && textOf(pid)} on ${stringIn(start, 'host')}`;
  if (standing === 'applied')
    return { message: `the same job was sent at ${when} and was applied`, hint: 'svc train log shows it; ' };
  if (standing === 'under-way')
    return { message: `the same job is under way since ${when}, in ${who}`, hint: 'wait for it; ' };
  return {
    message: `the same job was sent at ${when} by ${who}, and whether it was applied is not known`,
    hint: 'look at the service first; ',
  };
}
