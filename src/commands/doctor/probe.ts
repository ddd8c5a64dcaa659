import { authorizationFor, destinationOf } from '../../call/destination.ts';
import { reasonOf } from '../../call/failures.ts';
import { requestHeaders } from '../../call/request.ts';
import { verdictOf } from '../../call/verdict.ts';
import type { Context } from '../../cli/context.ts';
import { collectStart } from '../../http/collect.ts';
import { deadlineIn } from '../../http/deadline.ts';
import { header, type Reply, type Request } from '../../http/message.ts';
import { noProgress } from '../../http/progress.ts';
import { writeJson } from '../../json/write.ts';
import { feedbackSchema } from '../../operations/feedback-schema.ts';
import type { Chosen } from '../../profiles/resolve.ts';
import { wayTo } from '../../profiles/way.ts';
import { openLine, withLayers } from '../line.ts';
import { fillingOf } from '../options.ts';
import type { Probe, Question } from './examination.ts';
import type { Finding } from './finding.ts';

const LIMIT = 30_000;
const WINDOW = 60_000;

// Where none is set any will do: an answer that there is no such project comes from the service as well.
const PLACEHOLDER = 'svc/doctor';

/**
 * Asks the service for the schema of the feedback of the last minute, which changes nothing, and says what came of it.
 * Throws the Failure that kept it from being asked.
 */
export async function probe(
  { wantedFor, files }: Question,
  chosen: Chosen,
  context: Context,
  findings: Finding[],
): Promise<Probe | undefined> {
  const { runtime, report, signal } = context;
  const { url, profileHeaders, isLocal } = destinationOf(feedbackSchema, wantedFor('trace'), chosen, runtime.env);
  if (!url) return undefined;
  const way = isLocal ? undefined : await wayTo(url, files, chosen.profile, runtime);
  const authorization = isLocal
    ? undefined
    : await authorizationFor(url, feedbackSchema, chosen, false, runtime, signal);
  report.conceal(authorization?.secrets ?? []);
  const set = fillingOf('project_id', chosen, runtime.env).text;
  const project_id = set || PLACEHOLDER;
  const deadline = deadlineIn(LIMIT, runtime);
  const started = runtime.elapsed();
  const line = await openLine(way, context);
  const secret = authorization ? [['Authorization', authorization.value.reveal()] as const] : [];
  const request: Request = {
    method: 'POST',
    url: url.href,
    headers: [...requestHeaders(profileHeaders, [], false), ...secret],
    body: bodyOf(project_id, runtime.now()),
    signal,
  };
  try {
    const reply = await withLayers(line.send, noProgress(), deadline, context)(request);
    await collectStart(reply.body, 1);
    findings.push(...verdict(reply, set !== undefined));
    return { project_id, status: reply.status, milliseconds: Math.round(runtime.elapsed() - started) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    findings.push({
      message: `the service did not answer svc feedback schema: ${reasonOf(error)}`,
      code: 'unreachable',
    });
    return { project_id, status: null, milliseconds: Math.round(runtime.elapsed() - started) };
  } finally {
    await line.close();
  }
}

function bodyOf(project_id: string, now: number): Uint8Array {
  const [start, end] = [now - WINDOW, now].map((time) => new Date(time).toISOString());
  return Buffer.from(writeJson({ project_id, start, end, sample_limit: 1 }));
}

function verdict({ status, headers }: Reply, isOwnProject: boolean): Finding[] {
  const { code } = verdictOf(status, header(headers, 'retry-after') !== undefined);
  if (code === undefined || (code === 'refused' && !isOwnProject && status >= 400)) return [];
  const hint = code === 'credentials' ? 'svc auth login stores others' : undefined;
  return [{ message: `the service answered svc feedback schema with ${status}`, code, hint }];
}
