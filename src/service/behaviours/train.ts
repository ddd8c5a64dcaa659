import type { Finding } from '../../fields/finding.ts';
import { type Judge, judgeOf, remarksOf } from '../../fields/judge.ts';
import { uuid7 } from '../../fields/uuid.ts';
import { type JsonNode, member, rootOf, stringIn, textOf } from '../../json/node.ts';
import { parsePath } from '../../json/path.ts';
import type { Operation } from '../../operations/operation.ts';
import { newChecks } from '../../trajectories/checks.ts';
import { readTrajectories } from '../../trajectories/read.ts';
import { documentOf, type Part, partOf, shellOf } from '../../trajectories/shell.ts';
import { keepHeapSmall } from '../../trajectories/small-heap.ts';
import { UnreadableText } from '../../trajectories/unreadable-text.ts';
import { refusedBody } from '../refusal.ts';
import { jsonReply } from '../replies.ts';
import { openWaiting, type Waiting } from '../waiting.ts';
import type { Intake, World } from '../world.ts';

/**
 * Takes training jobs trajectory by trajectory, in memory for one of them, and judges each as it comes. What waits on the
 * disk is stored, byte for byte, in one transaction when all of it has come and nothing is refused.
 */
export function takeJobs(operation: Operation): Intake {
  const judge = judgeOf(operation.body);
  return async (pieces, _length, _caller, world) => {
    keepHeapSmall();
    const waiting = await openWaiting(world.folder);
    try {
      const { body, findings } = await takeJob(pieces, waiting, judge);
      return { findings, apply: () => jsonReply(200, { id: store(body, waiting, world) }), drop: waiting.close };
    } catch (error) {
      await waiting.close();
      if (!(error instanceof UnreadableText)) throw error;
      const findings = [unreadable(error)];
      return { findings, apply: () => refusedBody(findings, operation), drop: async () => {} };
    }
  };
}

async function takeJob(
  pieces: AsyncIterable<Uint8Array>,
  waiting: Waiting,
  judge: Judge,
): Promise<{ readonly body: JsonNode; readonly findings: readonly Finding[] }> {
  const checks = newChecks(remarksOf, undefined);
  const outside: Part[] = [];
  let isInGroup = false;
  let at = 0;
  for await (const some of readTrajectories(pieces, 'body')) {
    for (const passing of some) {
      checks.see(passing, '');
      if (passing.kind === 'group') [isInGroup, at] = [true, 0];
      else if (passing.kind === 'end') isInGroup = false;
      else if (passing.kind === 'trajectory')
        waiting.add({ group: checks.groups() - 1, at: at++, bytes: passing.bytes });
      else if (passing.kind === 'text' && !isInGroup) outside.push(partOf(passing));
    }
    await waiting.flush();
  }
  const body = rootOf(documentOf(shellOf(outside)));
  const inside = checks.findings().map(({ path, ...finding }) => ({ ...finding, path: parsePath(path) ?? [] }));
  return { body, findings: [...judge(body), ...inside] };
}

function store(body: JsonNode, waiting: Waiting, { store: database, now, randomBytes }: World): string {
  const id = uuid7(now(), randomBytes(10));
  const config = member(body, 'experimental_config');
  database.transaction(() => {
    database.run(
      'insert into jobs (id, model_id, experimental_config, created_at) values (?, ?, ?, ?)',
      ...[id, stringIn(body, 'model_id') ?? '', config ? textOf(config) : null, now()],
    );
    database.runEach('insert into trajectories values (?, ?, ?, ?)', rowsOf(id, waiting));
  });
  return id;
}

function* rowsOf(id: string, waiting: Waiting): Generator<readonly [string, number, number, Uint8Array]> {
  for (const { group, at, bytes } of waiting.rows()) yield [id, group, at, bytes];
}

// What is not JSON has no path, only an offset.
function unreadable({ message, place }: UnreadableText): Finding {
  const reason = /^not JSON: (.*)$/s.exec(message)?.[1];
  return reason === undefined
    ? { path: [], level: 'error', code: 'invalid', message }
    : { path: [place.offset], level: 'error', code: 'invalid', message: `JSON decode error: ${reason}` };
}
