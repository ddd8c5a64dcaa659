import { answeredEntry, failedEntry } from '../../batch/entry.ts';
import type { Line } from '../../batch/line.ts';
import type { Place } from '../../batch/order.ts';
import { appliedBefore, mayBeSent, type Standing, standing } from '../../batch/standing.ts';
import type { Found } from '../../batch/table.ts';
import { isHarmless, repeatAdvice } from '../../call/effect.ts';
import { secretsIn } from '../../call/prepared.ts';
import { type Sent, toBeSent } from '../../call/sent.ts';
import { type Applied, Failure, failureOf } from '../../errors.ts';
import { concealer } from '../../output/conceal.ts';
import type { Watch } from '../send.ts';
import type { Job } from './job.ts';
import { readyLine } from './ready-line.ts';
import { type Returned, sendLine } from './send-line.ts';

/** What became of a line. */
export interface Ended extends Standing {
  readonly failure: Failure | undefined;
  readonly attempts: number;
}

/**
 * Sends a line, unless its outcome is known already or it may not be sent again, and puts what came of it in its place.
 * Throws what the results throw.
 */
export async function runLine(line: Line, place: Place, job: Job): Promise<Ended> {
  const { results } = job;
  const { runtime } = job.context;
  const found = results.found(line.number);
  if (found?.exitCode === 0) return kept(found, place);
  const declared = results.declared(line.number);
  const at = declared ?? runtime.now();
  const { draft, customId } = await readyLine(line, at, job);
  const unsent = async (failure: Failure, id = customId): Promise<Ended> => {
    const outcome = { line: line.number, id, attempts: 0, milliseconds: 0 };
    await place.put(failedEntry(outcome, failure, job.context.report.clean));
    return { ...standing(failure.exitCode, failure.facts.applied), failure, attempts: 0 };
  };
  if (draft instanceof Failure) {
    if (found && found.applied !== 'no') return kept(found, place);
    return unsent(declared === undefined ? draft : lost());
  }
  const sent = toBeSent(job.recipe.operation, draft);
  const id = customId ?? Object.values(sent.ids)[0];
  const allowed = { isUnknownRepeated: job.isUnknownRepeated, isSameRun: results.isSameRun };
  if (!mayBeSent(appliedBefore(found, declared), sent.effect, allowed)) {
    return found ? kept(found, place) : unsent(lost(sent), id);
  }
  let isDeclared = false;
  let started = 0;
  const declare = async (): Promise<void> => {
    await results.declare(line.number, at);
    isDeclared = true;
  };
  const guard = job.guards(draft);
  const watch: Watch = {
    begin: async () => {
      await guard?.begin();
      if (!isDeclared) await declare();
      started = runtime.elapsed();
    },
    end: async (came) => guard?.end(came),
  };
  // Where it does no harm to send a line twice, it is said ahead, so that the disk works while others are under way.
  if (isHarmless(sent.effect)) await declare();
  const returned = await sendLine(sent, line.number, watch, job).catch(failed);
  const { answer } = returned;
  const failure = returned.failure && overAllRuns(returned.failure, appliedBefore(found, declared));
  const { attempts } = sent.progress;
  if (failure && wasStopped(returned.failure ?? failure)) {
    if (isDeclared && declared === undefined) await results.withdraw(line.number);
    await place.put(undefined);
    return { verdict: 'unsent', isOpen: false, failure, attempts };
  }
  const outcome = { line: line.number, id, attempts, milliseconds: runtime.elapsed() - started };
  if (!failure && answer) await place.put(answeredEntry(outcome, returned.status, answer));
  else if (failure) await place.put(failedEntry(outcome, failure, cleanerFor(sent, job), answer));
  return { ...standing(failure?.exitCode ?? 0, failure?.facts.applied), failure, attempts };
}

async function kept(found: Found, place: Place): Promise<Ended> {
  await place.put(undefined);
  return { ...standing(found.exitCode, found.applied), failure: undefined, attempts: 0 };
}

function lost(sent?: Sent): Failure {
  const facts = sent
    ? { ids: sent.ids, hint: `${repeatAdvice(sent.effect)}; --retry-unknown does` }
    : { hint: 'its line is wrong by now; --dry-run says why' };
  return new Failure('unknown', 'an earlier run ended before the answer came', { applied: 'unknown', ...facts });
}

// That an earlier time may have applied it is not taken back by one that did not.
function overAllRuns(failure: Failure, before: Applied): Failure {
  const { code, message, facts } = failure;
  if (before !== 'unknown' || (facts.applied ?? 'no') !== 'no') return failure;
  return new Failure(code, message, { ...facts, applied: 'unknown' });
}

function failed(error: unknown): Returned {
  const failure = failureOf(error);
  if (failure.code === 'bug') throw error;
  return { status: failure.facts.status ?? 0, answer: undefined, failure };
}

function wasStopped({ code, facts }: Failure): boolean {
  return (code === 'interrupted' || code === 'terminated') && facts.applied === 'no';
}

function cleanerFor(sent: Sent, { headers, context: { report } }: Job): (text: string) => string {
  const { clean } = concealer(secretsIn({ operation: sent.operation, draft: sent.draft, headers }));
  return (text) => clean(report.clean(text));
}
