import { fileArguments, readBodyBase, wholeBodyInput } from '../../body/body-base.ts';
import { enforceChecks, type StreamedFinding, type StreamedPart } from '../../body/body-check.ts';
import { bodyFormat } from '../../body/body-flags.ts';
import { buildBody } from '../../body/build-body.ts';
import type { Draft } from '../../body/draft.ts';
import { createBodyInputs, type LabeledBytes } from '../../body/input-reader.ts';
import { createJobGuard, createTrainingJob } from '../../client/job-guard.ts';
import { prepareRequest } from '../../client/request.ts';
import type { Settings } from '../../client/resolve-settings.ts';
import { dataDirectory } from '../../config/environment.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { parseByteSize } from '../../files/byte-size.ts';
import { prepareForTrajectories } from '../../files/heap-limit.ts';
import { collectBody } from '../../http/body-chunks.ts';
import type { RequestBody } from '../../http/message.ts';
import { getMember, kindOf, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { trainOperation } from '../../operations/train.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { TrainingJob } from '../../train/job-history.ts';
import { bodyContent, filesContent, parseGroupByPath, type TrajectoryContent } from '../../train/stream/groups.ts';
import { createTrajectorySources, type TextSource, type TrajectorySources } from '../../train/stream/source.ts';
import {
  assembleBody,
  type CheckedDigest,
  digestChunks,
  requireUnchanged,
  showCheckProgress,
  splitAtGroupArrays,
} from '../../train/stream/upload.ts';
import { requestCommand } from '../operation/request-command.ts';
import { type RequestStart, readHooks } from '../operation/response-hooks.ts';
import { sendOrShow } from '../operation/send-and-show.ts';

/** Creates a training job: settings, a body that may be larger than memory, checks, guard against duplicates, send, show. */
export const runTrain = requestCommand(trainOperation, async (start, context) => {
  const { settings, options, deadline } = start;
  const hooks = await readHooks(start, context);
  prepareForTrajectories(context.runtime.node);
  const sources = createTrajectorySources(
    context,
    dataDirectory(context.runtime),
    deadline,
    options.maxSpool === undefined ? undefined : parseByteSize('--max-spool', options.maxSpool),
  );
  try {
    const input = await readTrainingInput(start, sources, context);
    const { draft, body, job } = await checkTraining(input, settings, context);
    const request = prepareRequest(settings, draft, body);
    const guard = createJobGuard(job, options.allowDuplicate === true, context);
    if (settings.previewFormat) await guard.onPreview();
    await sendOrShow(request, { ...start, hooks, guard }, context);
  } finally {
    await sources.close();
  }
});

interface TrainingInput {
  readonly draft: Draft;
  /** The trajectories that are not in the draft. */
  readonly content?: TrajectoryContent | undefined;
  readonly streamed?: StreamedBody | undefined;
  readonly files: readonly string[];
}

// A whole body is read here, in bounded memory; its envelope, without the trajectories, is the base of the draft.
async function readTrainingInput(start: RequestStart, sources: TrajectorySources, context: Context) {
  const { input, settings, deadline } = start;
  const { files, groupByPath, isInline } = readTrainingFlags(start);
  const inputs = createBodyInputs(context, deadline);
  const whole = wholeBodyInput(input);
  // YAML is not streamed; its trajectories are in the draft.
  const streamed =
    whole && bodyFormat(whole.path ?? '') === 'JSON'
      ? await readStreamedBody(await sources.open(whole.path), context)
      : undefined;
  const base = streamed ? { whole: streamed.envelope } : await readBodyBase(input, inputs);
  const defaults = settings.isExact ? undefined : settings.defaults;
  const draft = await buildBody(input, { settings: defaults, base }, inputs);
  if (files.length === 0) {
    const labels = base.whole ? [base.whole.label] : [];
    return isInline ? { draft, files: labels } : { draft, content: streamed?.content, streamed, files: labels };
  }
  const replaced = streamed?.content?.checks.groupCount() ?? 0;
  if (replaced > 0) {
    const groups = `${replaced} ${pluralize(replaced, 'group')} of ${base.whole?.label}`;
    await context.report.warn(`the files replace the ${groups}; to send both, give all groups as files`);
  }
  return { draft, content: filesContent(await sources.openAll(files), groupByPath), files };
}

// The files of a training job, none if the groups are in the body or, `isInline`, on the command line.
function readTrainingFlags({ input, options: { file, stdin, groupBy, set = [] } }: RequestStart) {
  const files = fileArguments(input);
  const isSet = set.some((assignment) => /^trajectory_groups\s*[.[:=]/.test(assignment));
  const hasWholeBody = file !== undefined || stdin === true;
  const isInline = files.length === 0 && (input.given.has(flagName('trajectory_groups')) || (isSet && !hasWholeBody));
  if (isSet && !isInline) throw usageFailure('--set cannot change trajectories in a file', 'edit the file');
  const groupByPath = parseGroupByPath(groupBy);
  if (groupByPath && files.length === 0)
    throw usageFailure(
      '--group-by needs files with one trajectory per line',
      'name them: svc train runs.jsonl --group-by ...',
    );
  return { files, groupByPath, isInline };
}

interface StreamedBody {
  readonly envelope: LabeledBytes;
  readonly content?: TrajectoryContent;
  readonly digest?: CheckedDigest;
}

async function readStreamedBody(source: TextSource, context: Context): Promise<StreamedBody> {
  const content = bodyContent(source);
  const digest = await digestFirstReading(content, content.readFirst(), context);
  if (source.size === 0 && source.label === 'stdin')
    return { envelope: { label: source.label, bytes: new Uint8Array() } };
  return { envelope: content.envelope(), content, digest };
}

function digestFirstReading(content: TrajectoryContent, chunks: AsyncIterable<Uint8Array>, context: Context) {
  const { sources, checks } = content;
  const { onBytes, end } = showCheckProgress(sources, context, checks.groupCount);
  return digestChunks(chunks, onBytes).finally(end);
}

// A body up to this size is held in memory, like that of any other operation.
const MAX_BUFFERED_BODY_BYTES = 256 * 1024;

// Files are read twice: now to check, count and hash them, and again when the body is sent.
async function checkTraining(
  { draft, content, streamed, files }: TrainingInput,
  settings: Settings,
  context: Context,
): Promise<{ readonly draft: Draft; readonly body?: RequestBody; readonly job: TrainingJob }> {
  const { report, signal } = context;
  if (!content) {
    await enforceChecks(draft, trainOperation, settings, report);
    return { draft, job: createTrainingJob(draft, files, settings) };
  }
  const { sources, checks, isReordered, readFirst, rereadArray } = content;
  const parts = splitAtGroupArrays(draft.doc);
  const firstReading = (): AsyncIterable<Uint8Array> => (isReordered ? readFirst() : assembleBody(parts, readFirst));
  const readBody = (): AsyncIterable<Uint8Array> => assembleBody(parts, rereadArray);
  const firstDigest = streamed?.digest ?? (await digestFirstReading(content, firstReading(), context));
  await enforceChecks(draft, trainOperation, settings, report, streamedPart(content, draft));
  const isDifferent = isReordered || (streamed && !draft.doc.bytes.equals(streamed.envelope.bytes));
  const digest = isDifferent ? await digestChunks(readBody(), () => signal.throwIfAborted()) : firstDigest;
  const counts = { groups: checks.groupCount(), trajectories: checks.trajectoryCount() };
  const job = createTrainingJob(draft, files, settings, digest, counts);
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (const source of sources) await source.verifyUnchanged();
    yield* requireUnchanged(readBody(), digest.checksum, sources.map(({ label }) => label).join(' '));
  };
  if (digest.bytes > MAX_BUFFERED_BODY_BYTES) return { draft, body: { length: digest.bytes, chunks }, job };
  const bytes = await collectBody(chunks(), MAX_BUFFERED_BODY_BYTES, digest.bytes);
  return { draft: { ...draft, doc: parseJson(bytes) }, job };
}

const NO_GROUP = 'contains no group';
const EMPTY_FILES = `${NO_GROUP}: the input is empty; write a group per line`;

function streamedPart({ sources, checks, isBlank }: TrajectoryContent, { doc }: Draft): StreamedPart {
  const errors = checks.structureErrors();
  const findings: StreamedFinding[] = [...checks.findings()];
  const groups = getMember(rootOf(doc), 'trajectory_groups');
  const hasNoGroup = groups && kindOf(groups) === 'list' && checks.groupCount() === 0 && errors.length === 0;
  // Services accept such a job (docs/internals/servers.md); of files, somebody meant it only with an array.
  if (hasNoGroup && isBlank?.()) findings.push({ level: 'error', path: 'trajectory_groups', message: EMPTY_FILES });
  else if (hasNoGroup)
    findings.push({
      level: 'warning',
      path: 'trajectory_groups',
      message: `${NO_GROUP}, so the job contains no training signal`,
    });
  return { errors, findings, files: sources.map(({ label }) => label), hint: checks.hint() };
}
