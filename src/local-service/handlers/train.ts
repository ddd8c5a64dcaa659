import { Buffer } from 'node:buffer';
import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Finding } from '../../fields/finding.ts';
import { type BodyValidator, createBodyValidator } from '../../fields/schema-validator.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { openAnonymousFile } from '../../files/file-replacement.ts';
import { limitYoungGeneration } from '../../files/heap-limit.ts';
import {
  firstStringMember,
  getMember,
  type JsonNode,
  kindOf,
  parseJsonPath,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import { writeJson } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { createTrajectoryChecks } from '../../train/stream/checks.ts';
import { readTrajectories } from '../../train/stream/reader.ts';
import { createEnvelope, InvalidTextError } from '../../train/stream/text-position.ts';
import { createChunkBatcher } from '../../train/stream/upload.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { invalidJsonFinding, receiveBody, refuseFindings } from '../operation-route.ts';
import { invalidBodyResponse, jsonResponse } from '../responses.ts';
import type { Respond, ServiceContext } from '../service-context.ts';
import type { StagedTrajectory } from '../store/service-store.ts';

/** Receives training jobs with one trajectory in memory at a time; they are staged on disk, and stored once all are valid. */
export function receiveTrainingJobs(operation: Operation, context: ServiceContext): Respond {
  const validate = createBodyValidator(operation);
  const { store, directory, now, randomBytes } = context;
  return async (request, { signal }) => {
    const { chunks } = receiveBody(request, operation, context);
    limitYoungGeneration();
    const staging = await openStagingFile(directory);
    try {
      const { body, findings, rewards } = await receiveJob(chunks, staging, validate);
      const refusal = refuseFindings(findings, operation, context);
      await yieldToEventLoop(signal, request.body.length ?? 0);
      if (refusal) return refusal;
      const config = getMember(body, 'experimental_config');
      const job = {
        id: uuidV7(now(), randomBytes(10)),
        model_id: firstStringMember(body, 'model_id') ?? '',
        experimental_config: config && kindOf(config) !== 'null' ? rawText(config) : null,
        rewards,
        created_at: now(),
      };
      await store.saveJob(job, staging.trajectories, signal);
      return jsonResponse(200, { id: job.id });
    } catch (error) {
      if (!(error instanceof InvalidTextError)) throw error;
      const { message, location, syntaxProblem } = error;
      // Text that is not JSON has no path, only an offset.
      const finding: Finding =
        syntaxProblem === undefined
          ? { path: [], level: 'error', code: 'invalid', message }
          : invalidJsonFinding(location.offset, syntaxProblem);
      return invalidBodyResponse([finding], operation);
    } finally {
      await staging.close();
    }
  };
}

async function receiveJob(
  chunks: AsyncIterable<Uint8Array>,
  staging: Awaited<ReturnType<typeof openStagingFile>>,
  validate: BodyValidator,
): Promise<{ readonly body: JsonNode; readonly findings: readonly Finding[]; readonly rewards: string }> {
  const { createJobRewards } = await import('../page-summaries.ts');
  const [checks, rewards] = [createTrajectoryChecks(undefined), createJobRewards()];
  let index = 0;
  for await (const events of readTrajectories(chunks, 'body')) {
    for (const event of events) {
      if (event.kind !== 'trajectory') checks.checkEvent(event, '');
      else {
        rewards.add(checks.checkTrajectory(event, ''));
        staging.add(checks.lastGroup(), index++, event.bytes);
      }
      if (event.kind !== 'group') continue;
      rewards.addGroup();
      index = 0;
    }
    await staging.flush();
  }
  const body = rootOf(createEnvelope(checks.bodyParts).parse());
  const findings = checks.findings().map((finding) => ({ ...finding, path: parseJsonPath(finding.path) ?? [] }));
  return { body, findings: [...validate(body), ...findings], rewards: writeJson(rewards.finish()) };
}

// Before each trajectory: its group, its place in it, and how many bytes it has.
const HEADER_BYTES = 12;

// The trajectories of a job that may still be rejected, in an unnamed file, which disappears however the process ends.
async function openStagingFile(directory: string) {
  const handle = await openAnonymousFile(directory);
  const batch = createChunkBatcher();
  let pending: Uint8Array[] = [];
  let writtenBytes = 0;
  return {
    add: (group: number, index: number, bytes: Uint8Array): void => {
      pending.push(Buffer.from(Uint32Array.of(group, index, bytes.length).buffer), bytes);
    },
    flush: async (): Promise<void> => {
      const chunks = pending;
      pending = [];
      for (const chunk of batch(chunks)) {
        await handle.appendFile(chunk);
        writtenBytes += chunk.length;
      }
    },
    /** All that were written, in order. They are read at once, because a transaction cannot wait. */
    trajectories: () => readTrajectoriesFrom(handle, writtenBytes),
    close: () => handle.close(),
  };
}

function* readTrajectoriesFrom({ fd }: FileHandle, size: number): Generator<StagedTrajectory> {
  let buffer = Buffer.alloc(0);
  let position = 0;
  const readBytes = (length: number): Buffer => {
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length);
    const bytes = buffer.subarray(0, length);
    for (let read = 0; read < length; ) {
      const count = readSync(fd, bytes, read, length - read, position + read);
      if (count === 0) throw new Error('the staging file was truncated');
      read += count;
    }
    position += length;
    return bytes;
  };
  while (position < size) {
    const [group = 0, index = 0, length = 0] = new Uint32Array(Uint8Array.from(readBytes(HEADER_BYTES)).buffer);
    yield { group, index, bytes: readBytes(length) };
  }
}
