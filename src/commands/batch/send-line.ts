import { Buffer } from 'node:buffer';
import { choicesAsked } from '../../body/streaming.ts';
import { type Answer, brokenAnswer } from '../../call/answer.ts';
import { chunksOf } from '../../call/chunks.ts';
import { joiner } from '../../call/join.ts';
import { type Repeats, repeated } from '../../call/repeated.ts';
import { roomFor } from '../../call/room.ts';
import type { Sent } from '../../call/sent.ts';
import { Failure } from '../../errors.ts';
import { type Deadline, deadlineIn } from '../../http/deadline.ts';
import { rootOf } from '../../json/node.ts';
import { type Answered, attempt } from '../attempt.ts';
import { withLayers } from '../line.ts';
import { outcomeOfAnswer, outcomeOfFailure } from '../outcome.ts';
import { againText, chance, pause } from '../repeats.ts';
import type { Watch } from '../send.ts';
import type { Job } from './job.ts';

/** What came of a line that was sent. */
export interface Returned {
  readonly status: number;
  readonly answer: Pick<Answer, 'bytes'> | undefined;
  readonly failure: Failure | undefined;
}

// Of a stream that is put together.
const MOST = 8 * 1024 * 1024;

/**
 * Sends the body of a line when it is its turn, again where that does no harm, and gives what came of it. `watch`
 * begins before the first byte leaves. Throws the Failure of a line that brought no answer.
 */
export async function sendLine(sent: Sent, line: number, watch: Watch, job: Job): Promise<Returned> {
  const { runtime, signal } = job.context;
  const stop = sent.operation.streams ? new AbortController() : undefined;
  const linked = stop ? AbortSignal.any([signal, stop.signal]) : signal;
  const spinless = { ...job.context, spin: () => () => {} };
  const request = {
    method: 'POST',
    url: job.url.href,
    headers: job.headers,
    body: sent.draft.doc.bytes,
    signal: linked,
  };
  let deadline: Deadline | undefined;
  const attemptInTurn = async (): Promise<Answered> => {
    const turn = await job.pace.turn().catch(() => {
      throw notSent();
    });
    let failure: Failure | undefined;
    try {
      // The time of a line begins when it may leave, not while others are under way.
      if (!deadline) {
        await watch.begin();
        deadline = deadlineIn(job.limit, runtime);
      }
      return await attempt(withLayers(job.send, sent.progress, deadline, job.context), request, sent, spinless);
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      turn.end(failure?.code === 'limited' || failure?.code === 'unreachable', failure?.facts.retryAfter);
    }
  };
  const repeats: Repeats = {
    most: job.retries,
    budget: job.budget,
    left: () => deadline?.left() ?? Number.POSITIVE_INFINITY,
    random: () => chance(runtime),
    wait: (milliseconds) => pause(milliseconds, runtime, job.quit.signal),
    tell: (failure, repeat, milliseconds) =>
      job.context.report.detail(`line ${line}: ${againText(failure, repeat, job.retries, milliseconds)}`),
  };
  const answered = await repeated(attemptInTurn, sent, repeats).catch(async (error: unknown) => {
    await watch.end(outcomeOfFailure(error, sent));
    throw error;
  });
  await watch.end(outcomeOfAnswer(answered, sent));
  const { reply, answer } = answered;
  if (answer) return { status: reply.status, answer, failure: answer.broken };
  return joined(reply, sent, () => stop?.abort(), job);
}

async function joined(reply: Answered['reply'], sent: Sent, stop: () => void, job: Job): Promise<Returned> {
  const { operation, draft } = sent;
  const choices = choicesAsked(rootOf(draft.doc));
  const room = roomFor(MOST);
  const whole = joiner(operation.reply, room);
  let failure: Failure | undefined;
  try {
    for await (const chunk of chunksOf(reply, sent, { choices, after: job.context.runtime.after, stop }))
      whole.add(chunk);
    if (!room.isEnough())
      failure = brokenAnswer(`the stream is longer than what can be held (${MOST} bytes)`, reply, sent);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  return { status: reply.status, answer: { bytes: Buffer.from(whole.text()) }, failure };
}

// Whoever waits for a turn has not been sent, this time.
function notSent(): Failure {
  return new Failure('interrupted', 'not sent', { applied: 'no', isLasting: true });
}
