import type { Run } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { Failure, usage } from '../errors.ts';
import { isOn, listOf, textOf } from '../fields/flag.ts';
import { type Path, parsePath } from '../json/path.ts';
import { writeJson } from '../json/write.ts';
import { type Kind, kindNamed, kindNames } from '../lint/kinds.ts';
import { type Lint, type Linted, newLint } from '../lint/lint.ts';
import { keepHeapSmall } from '../trajectories/small-heap.ts';
import { lintJson } from './lint/json.ts';
import { lintText } from './lint/text.ts';
import { sourcesOf } from './training/sources.ts';

/**
 * Looks at trajectories and tells what cannot be learned from; nothing is sent. Throws Failure `body` where they could
 * not be sent as they are, and `guard` where there are findings of `--fail-on`.
 */
export const runTrainLint: Run = async ({ args, flags }, context) => {
  const { stdout, report } = context;
  const fatal = fatalKinds(listOf(flags, 'fail-on'));
  const path = groupPath(textOf(flags, 'group-by'));
  const linted = await lint(args, textOf(flags, 'file'), newLint(path), context);
  const asJson = isOn(flags, 'json') || !stdout.isTerminal;
  await stdout.write(asJson ? `${writeJson(lintJson(linted))}\n` : lintText(linted));
  await stdout.end();
  for (const { at, path, message } of linted.judged.filter(({ level }) => level === 'warning'))
    await report.warn(`${at} ${path}: ${message}`);
  const failure = failureOf(linted, fatal);
  if (failure) throw failure;
};

async function lint(
  files: readonly string[],
  body: string | undefined,
  { read, end }: Lint,
  context: Context,
): Promise<Linted> {
  const all = [...files, ...(body === undefined ? [] : [body])];
  if (all.length === 0) throw usage('there is nothing to look at', 'svc train lint <files...>; - is stdin');
  if (all.filter((file) => file === '-').length > 1) throw usage('stdin can be read once, and it is named twice');
  keepHeapSmall();
  const sources = sourcesOf(context, false);
  const stop = context.spin('reading trajectories');
  try {
    for (const { label, first } of await sources.openAll(files))
      await read(label, stoppable(first(), context.signal), 'groups');
    if (body !== undefined) {
      const { label, first } = await sources.open(body);
      await read(label, stoppable(first(), context.signal), 'body');
    }
    return end();
  } finally {
    stop();
    await sources.close();
  }
}

async function* stoppable(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}

function fatalKinds(given: readonly string[]): readonly Kind[] {
  const names = given.flatMap((list) => list.split(',')).map((name) => name.trim());
  if (names.includes('any')) return kindNames;
  return names.map((name) => {
    const kind = kindNamed(name);
    if (kind) return kind;
    throw usage(`--fail-on cannot be ${JSON.stringify(name)}`, `it is any, or of ${kindNames.join(', ')}`);
  });
}

function groupPath(text: string | undefined): Path | undefined {
  if (text === undefined) return undefined;
  const path = parsePath(text);
  if (path) return path;
  throw usage(`--group-by cannot be ${JSON.stringify(text)}`, 'write a path, such as metadata.task');
}

function failureOf({ summary, broken, judged }: Linted, fatal: readonly Kind[]): Failure | undefined {
  const errors = [...broken, ...judged.filter(({ level }) => level === 'error')];
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
