import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { getArrayFlag, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { type JsonPath, parseJsonPath } from '../../json/json-path.ts';
import { writeJson } from '../../json/write-json.ts';
import { lintJson } from '../../train/lint/lint-json.ts';
import { findLintKind, type LintKind, lintKindNames } from '../../train/lint/lint-kinds.ts';
import { lintText } from '../../train/lint/lint-text.ts';
import { createLinter, type Linter, type LintResult } from '../../train/lint/linter.ts';
import { keepHeapSmall } from '../../train/stream/small-heap.ts';
import { createTrajectorySources } from './trajectory-sources.ts';

/**
 * Looks at trajectories and tells what cannot be learned from; nothing is sent. Throws Failure `body` where they could
 * not be sent as they are, and `guard` where there are findings of `--fail-on`.
 */
export const runTrainLint: RunCommand = async ({ args, flags }, context) => {
  const { stdout, report } = context;
  const fatal = parseFailOn(getArrayFlag(flags, 'fail-on'));
  const path = parseGroupBy(getStringFlag(flags, 'group-by'));
  const result = await lintFiles(args, getStringFlag(flags, 'file'), createLinter(path), context);
  const isJson = getBooleanFlag(flags, 'json') || !stdout.isTerminal;
  await stdout.write(isJson ? `${writeJson(lintJson(result))}\n` : lintText(result));
  await stdout.end();
  for (const { at, path, message } of result.contractFindings.filter(({ level }) => level === 'warning'))
    await report.warn(`${at} ${path}: ${message}`);
  const failure = lintFailure(result, fatal);
  if (failure) throw failure;
};

async function lintFiles(
  files: readonly string[],
  body: string | undefined,
  { read, finish }: Linter,
  context: Context,
): Promise<LintResult> {
  const paths = [...files, ...(body === undefined ? [] : [body])];
  if (paths.length === 0) throw usageFailure('there is nothing to look at', 'svc train lint <files...>; - is stdin');
  if (paths.filter((file) => file === '-').length > 1)
    throw usageFailure('stdin can be read once, and it is named twice');
  keepHeapSmall();
  const sources = createTrajectorySources(context, false);
  const stop = context.startSpinner('reading trajectories');
  try {
    for (const { label, readFirst } of await sources.openAll(files))
      await read(label, abortable(readFirst(), context.signal), 'groups');
    if (body !== undefined) {
      const { label, readFirst } = await sources.open(body);
      await read(label, abortable(readFirst(), context.signal), 'body');
    }
    return finish();
  } finally {
    stop();
    await sources.close();
  }
}

async function* abortable(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
}

function parseFailOn(flagValues: readonly string[]): readonly LintKind[] {
  const names = flagValues.flatMap((list) => list.split(',')).map((name) => name.trim());
  if (names.includes('any')) return lintKindNames;
  return names.map((name) => {
    const kind = findLintKind(name);
    if (kind) return kind;
    throw usageFailure(`--fail-on cannot be ${JSON.stringify(name)}`, `it is any, or of ${lintKindNames.join(', ')}`);
  });
}

function parseGroupBy(text: string | undefined): JsonPath | undefined {
  if (text === undefined) return undefined;
  const path = parseJsonPath(text);
  if (path) return path;
  throw usageFailure(`--group-by cannot be ${JSON.stringify(text)}`, 'write a path, such as metadata.task');
}

function lintFailure(
  { summary, structureErrors, contractFindings }: LintResult,
  fatal: readonly LintKind[],
): Failure | undefined {
  const errors = [...structureErrors, ...contractFindings.filter(({ level }) => level === 'error')];
  if (errors.length > 0) {
    const count = errors.reduce((sum, { more = 0 }) => sum + 1 + more, 0);
    const places = count === 1 ? 'in one place' : `in ${count} places`;
    return new Failure('body', `this could not be sent: it is wrong ${places}`, { issues: errors, applied: 'no' });
  }
  const found = fatal.filter((kind) => summary.findings.count(kind) > 0);
  if (found.length === 0) return undefined;
  const counts = found.map((kind) => `${kind} (${summary.findings.count(kind)})`);
  return new Failure('guard', `found what --fail-on names: ${counts.join(', ')}`, { applied: 'no' });
}
