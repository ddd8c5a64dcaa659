import { Buffer } from 'node:buffer';
import { resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { fileFailure, pathExists } from '../../files/file-errors.ts';
import { nameSameFile, writeFileAtomically } from '../../files/file-replacement.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { getMember, type JsonDocument, kindOf, rootOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { pluralize } from '../../json/pluralize.ts';
import { indentJson } from '../../json/write-json.ts';
import { formatGithubAnnotation } from '../../output/failure-text.ts';
import { payloadTypes } from '../../results/schema-view.ts';

/** The hook of `--expect`: throws Failure `safety_check` on drift, or with `--update` writes the file. */
export async function openSchemaExpectation(
  flags: FlagValues,
  read: (path: string) => Promise<Uint8Array>,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
): Promise<((doc: JsonDocument) => Promise<void>) | undefined> {
  const file = getStringFlag(flags, 'expect');
  const isUpdate = isFlagOn(flags, 'update');
  if (file === undefined) {
    if (isUpdate)
      throw usageFailure('--update needs --expect', 'name the file to write: --expect schema.json --update');
    return undefined;
  }
  if (file === '-') throw usageFailure('--expect needs a file, not stdin', 'name a file, such as schema.json');
  const path = resolve(runtime.cwd, file);
  if (await nameSameFile(file, getStringFlag(flags, 'output'), runtime.cwd))
    throw usageFailure(`--expect and -o name the same file, ${file}`, 'choose another file with -o');
  const exists = await pathExists(path);
  const saved = exists ? await read(file) : Buffer.alloc(0);
  const root = tryParseJson(saved);
  const isSchema = root && kindOf(root) === 'object' && kindOf(getMember(root, 'paths') ?? root) === 'list';
  if (exists && !isSchema && !(isUpdate && saved.length === 0)) {
    const hint = 'name the file of a saved schema, or a new file with --update';
    throw new Failure('local_file', `${file} is not a saved result of svc feedback schema`, { hint, applied: 'no' });
  }
  if (isUpdate)
    return async (doc) => {
      await writeFileAtomically(path, file, `${indentJson(rootOf(doc))}\n`);
      const count = payloadTypes(doc).length;
      await report.note(`wrote the schema to ${file} (${count} ${pluralize(count, 'path')})`);
    };
  if (!root) {
    const missing = Object.assign(new Error('missing'), { code: 'ENOENT' });
    throw fileFailure(`read ${file}`, missing, {
      hint: `to save the current schema: --expect ${file} --update`,
      applied: 'no',
    });
  }
  return async (doc) => {
    const drift = schemaDrift(groupTypes(root.doc), groupTypes(doc));
    if (drift.length === 0) return;
    for (const line of drift) await report.error(line);
    const counts = `${drift.length} ${pluralize(drift.length, 'path differs', 'paths differ')} from ${file}`;
    const title = `the feedback schema changed: ${counts}`;
    const { CI, GITHUB_ACTIONS } = runtime.env;
    if (CI && GITHUB_ACTIONS && getStringFlag(flags, 'error-format') !== 'json')
      await report.error(formatGithubAnnotation({ level: 'error', title, message: drift.join('\n'), at: file }));
    throw new Failure('safety_check', title, {
      hint: `if this is intended: --expect ${file} --update`,
      applied: 'yes',
    });
  };
}

function groupTypes(doc: JsonDocument): ReadonlyMap<string, string> {
  const types = new Map<string, Set<string>>();
  for (const [path, type] of payloadTypes(doc)) types.set(path, (types.get(path) ?? new Set()).add(type));
  return new Map([...types].map(([path, one]) => [path, [...one].sort().join(' or ')]));
}

function schemaDrift(expected: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>): string[] {
  return [...new Set([...expected.keys(), ...actual.keys()])].sort().flatMap((path) => {
    const [before, now] = [expected.get(path), actual.get(path)];
    if (before === now) return [];
    if (before === undefined) return [`+ ${path}: ${now} (added)`];
    return now === undefined ? [`- ${path}: ${before} (removed)`] : [`~ ${path}: ${before} -> ${now} (changed type)`];
  });
}
