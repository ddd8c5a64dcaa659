import type { Finding } from '../../fields/finding.ts';
import { type BodyValidator, createBodyValidator } from '../../fields/schema-validator.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import type { ExchangeSignal } from '../../http/message.ts';
import {
  firstStringMember,
  getMember,
  type JsonNode,
  kindOf,
  parseJsonPath,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import type { Operation } from '../../operations/operation.ts';
import { createTrajectoryChecks } from '../../train/stream/checks.ts';
import { createEnvelope, InvalidTextError, readTrajectories } from '../../train/stream/reader.ts';
import { limitYoungGeneration } from '../../train/stream/small-heap.ts';
import { invalidBodyResponse, jsonResponse } from '../responses.ts';
import type { BodyReceiver, ServiceContext } from '../service-context.ts';
import { openStagingFile, type StagingFile } from '../store/staging-file.ts';

/**
 * Receives training jobs with one trajectory in memory at a time, and validates each when it is complete. Trajectories are
 * staged on disk, and stored byte for byte once all of them have arrived and are valid.
 */
export function createTrainReceiver(operation: Operation): BodyReceiver {
  const validate = createBodyValidator(operation);
  return async (chunks, _length, { signal }, context, refuse) => {
    limitYoungGeneration();
    const staging = await openStagingFile(context.directory);
    try {
      const { body, findings } = await receiveJob(chunks, staging, validate);
      const refusal = await refuse(findings);
      return refusal ?? jsonResponse(200, { id: await storeJob(body, staging, signal, context) });
    } catch (error) {
      if (error instanceof InvalidTextError) return invalidBodyResponse([unreadableFinding(error)], operation);
      throw error;
    } finally {
      await staging.close();
    }
  };
}

async function receiveJob(
  chunks: AsyncIterable<Uint8Array>,
  staging: StagingFile,
  validate: BodyValidator,
): Promise<{ readonly body: JsonNode; readonly findings: readonly Finding[] }> {
  const checks = createTrajectoryChecks(undefined);
  let index = 0;
  for await (const events of readTrajectories(chunks, 'body')) {
    for (const event of events) {
      checks.checkEvent(event, '');
      if (event.kind === 'group') index = 0;
      else if (event.kind === 'trajectory')
        staging.add({ group: checks.lastGroup(), index: index++, bytes: event.bytes });
    }
    await staging.flush();
  }
  const body = rootOf(createEnvelope(checks.bodyParts).parse());
  const trajectoryFindings = checks
    .findings()
    .map(({ path, ...finding }) => ({ ...finding, path: parseJsonPath(path) ?? [] }));
  return { body, findings: [...validate(body), ...trajectoryFindings] };
}

async function storeJob(
  body: JsonNode,
  staging: StagingFile,
  signal: ExchangeSignal | undefined,
  { store, now, randomBytes }: ServiceContext,
): Promise<string> {
  const id = uuidV7(now(), randomBytes(10));
  const config = getMember(body, 'experimental_config');
  const job = {
    id,
    model_id: firstStringMember(body, 'model_id') ?? '',
    experimental_config: config && kindOf(config) !== 'null' ? rawText(config) : null,
    created_at: now(),
  };
  await store.saveJob(job, staging.trajectories, signal);
  return id;
}

// Text that is not JSON has no path, only an offset.
function unreadableFinding({ message, location, syntaxProblem }: InvalidTextError): Finding {
  return syntaxProblem === undefined
    ? { path: [], level: 'error', code: 'invalid', message }
    : { path: [location.offset], level: 'error', code: 'invalid', message: `JSON decode error: ${syntaxProblem}` };
}
