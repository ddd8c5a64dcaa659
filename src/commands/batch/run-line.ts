import { answeredEntry, failedEntry } from '../../batch/entry.ts';
import type { Line } from '../../batch/line.ts';
import { readLine } from '../../batch/line-body.ts';
import { lineDraft } from '../../batch/line-draft.ts';
import type { Place } from '../../batch/order.ts';
import type { Found } from '../../batch/table.ts';
import type { Verdict } from '../../batch/tally.ts';
import { wrongBody } from '../../body/check.ts';
import type { Draft } from '../../body/draft.ts';
import { isIssue } from '../../body/source.ts';
import { repeatAdvice } from '../../call/effect.ts';
import { secretsIn } from '../../call/prepared.ts';
import { type Sent, toBeSent } from '../../call/sent.ts';
import { Failure, failureOf } from '../../errors.ts';
import { concealer } from '../../output/conceal.ts';
import type { Checks, Job } from './job.ts';
import { type Returned, sendLine } from './send-line.ts';

/** The body of a line that may be sent. */
export interface Ready {
  readonly draft: Draft;
  readonly customId: string | undefined;
}

/** Makes and checks the body of a line; `at` is the time it says. The Failure `body` it is otherwise is returned. */
export async function readyLine(
  line: Line,
  at: number,
  { recipe, label, check, warn }: Checks,
): Promise<Ready | Failure> {
  const body = readLine(line, label, recipe.operation);
  if (isIssue(body)) return wrongBody([body]);
  const draft = await lineDraft(body, line.number, at, recipe);
  if (isIssue(draft)) return wrongBody([draft]);
  const { warnings, failure } = check(draft, []);
  for (const warning of warnings) await warn(warning);
  return failure ?? { draft, customId: body.customId };
}

/** What became of a line, and how long it took. */
export interface Ended {
  readonly verdict: Verdict;
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
  if (found?.exitCode === 0) return kept('done', place);
  const declared = results.declared(line.number);
  const at = declared ?? runtime.now();
  const ready = await readyLine(line, at, job);
  const unsent = { line: line.number, id: undefined, attempts: 0, milliseconds: 0 };
  if (ready instanceof Failure) {
    if (found && found.applied !== 'no') return kept(verdictOf(found), place);
    await place.put(failedEntry(unsent, ready, job.context.report.clean));
    return { verdict: 'failed', failure: ready, attempts: 0 };
  }
  const sent = toBeSent(job.recipe.operation, ready.draft);
  const id = ready.customId ?? Object.values(sent.ids)[0];
  if (!maySend(found, declared, sent, job)) {
    if (found) return kept(verdictOf(found), place);
    const failure = lost(sent);
    await place.put(failedEntry({ ...unsent, id }, failure, job.context.report.clean));
    return { verdict: 'unknown', failure, attempts: 0 };
  }
  let isDeclared = false;
  let started = 0;
  const declare = async (): Promise<void> => {
    await results.declare(line.number, at);
    isDeclared = true;
  };
  const first = async (): Promise<void> => {
    if (!isDeclared) await declare();
    started = runtime.elapsed();
  };
  // Where it does no harm to send a line twice, it is said ahead, so that the disk works while others are under way.
  if (isHarmless(sent)) await declare();
  const returned = await sendLine(sent, line.number, first, job).catch(failed);
  const { failure, answer } = returned;
  const { attempts } = sent.progress;
  if (failure && wasStopped(failure)) {
    if (isDeclared && declared === undefined) await results.withdraw(line.number);
    await place.put(undefined);
    return { verdict: 'unsent', failure, attempts };
  }
  const outcome = { line: line.number, id, attempts, milliseconds: runtime.elapsed() - started };
  if (!failure && answer) await place.put(answeredEntry(outcome, returned.status, answer));
  else if (failure) await place.put(failedEntry(outcome, failure, cleanerFor(sent, job), answer));
  return {
    verdict: failure ? verdictOf({ exitCode: failure.exitCode, applied: failure.facts.applied ?? 'no' }) : 'done',
    failure,
    attempts,
  };
}

async function kept(verdict: Verdict, place: Place): Promise<Ended> {
  await place.put(undefined);
  return { verdict, failure: undefined, attempts: 0 };
}

function verdictOf({ exitCode, applied }: Pick<Found, 'exitCode' | 'applied'>): Verdict {
  if (exitCode === 0) return 'done';
  return applied === 'unknown' ? 'unknown' : 'failed';
}

// A line that was applied, or may have been, is sent again only where that does no harm or is wanted.
function maySend(found: Found | undefined, declared: number | undefined, sent: Sent, job: Job): boolean {
  const applied = found?.applied ?? (declared === undefined ? 'no' : 'unknown');
  return isHarmless(sent) || applied === 'no' || (applied === 'unknown' && job.isUnknownRepeated);
}

function isHarmless({ effect }: Sent): boolean {
  return effect === 'read' || effect === 'keyed';
}

function lost({ effect, ids }: Sent): Failure {
  return new Failure('unknown', 'an earlier run ended before the answer came', {
    applied: 'unknown',
    ids,
    hint: `${repeatAdvice(effect)}; --retry-unknown does`,
  });
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
