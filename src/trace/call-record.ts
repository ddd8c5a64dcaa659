import { constants, open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { JsonValue } from '../json/write-json.ts';
import type { ArgumentRedactor } from '../output/redaction.ts';
import type { Runtime } from '../runtime.ts';

/** The record of a command: the `start` of the `call start` request. */
export type TracedCall = {
  readonly project_id: string | undefined;
  readonly id: string;
  readonly trace_id: string;
  readonly parent_id: string | undefined;
  readonly op_name: string;
  readonly started_at: string;
  readonly inputs: { readonly [name: string]: JsonValue };
  readonly attributes: CallAttributes;
};

// docs/internals/servers.md, "call start".
const MAX_OP_NAME_CHARS = 128;

export function operationName(requested: string | undefined, program: string): string {
  return (requested ?? [...basename(program)].slice(0, MAX_OP_NAME_CHARS).join('')) || 'command';
}

/** The recorded inputs of a command without secrets: nothing, all arguments, or (`name`, the default) the base name. */
export function recordedInputs(how: string | undefined, words: readonly string[]): TracedCall['inputs'] {
  if (how === 'none') return {};
  return { command: how === 'argv' ? words : words.slice(0, 1).map((program) => basename(program)) };
}

/** Attributes of a call under the names of OpenTelemetry's semantic conventions. */
type CallAttributes = { readonly [name: string]: string };

// Attribute, and the variables of CI systems that hold it (GitHub, GitLab, CircleCI, Buildkite, Azure Pipelines).
const ciVariables = {
  'vcs.ref.head.name': 'GITHUB_REF_NAME CI_COMMIT_REF_NAME CIRCLE_BRANCH BUILDKITE_BRANCH BUILD_SOURCEBRANCHNAME',
  'vcs.ref.head.revision': 'GITHUB_SHA CI_COMMIT_SHA CIRCLE_SHA1 BUILDKITE_COMMIT BUILD_SOURCEVERSION',
  'vcs.repository.url.full': 'CI_PROJECT_URL CIRCLE_REPOSITORY_URL BUILDKITE_REPO BUILD_REPOSITORY_URI',
  'cicd.pipeline.name': 'GITHUB_WORKFLOW CI_PIPELINE_NAME BUILDKITE_PIPELINE_SLUG BUILD_DEFINITIONNAME',
  'cicd.pipeline.run.id': 'GITHUB_RUN_ID CI_PIPELINE_ID CIRCLE_WORKFLOW_ID BUILDKITE_BUILD_ID BUILD_BUILDID',
  'cicd.pipeline.run.url.full': 'CI_PIPELINE_URL CIRCLE_BUILD_URL BUILDKITE_BUILD_URL',
  'cicd.pipeline.task.name': 'GITHUB_JOB CI_JOB_NAME CIRCLE_JOB BUILDKITE_LABEL SYSTEM_JOBDISPLAYNAME',
  'cicd.pipeline.task.run.id': 'CI_JOB_ID BUILDKITE_JOB_ID SYSTEM_JOBID',
};

export async function collectCallAttributes(
  { env, cwd }: Pick<Runtime, 'env' | 'cwd'>,
  names: readonly string[],
  { redactText, redactVariable }: ArgumentRedactor,
): Promise<CallAttributes> {
  const attributes = [
    ['process.working_directory', cwd],
    ...Object.entries(await readGitHead(cwd)),
    ['vcs.repository.url.full', env.GITHUB_REPOSITORY && `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}`],
    ...Object.entries(ciVariables).map(([name, variables]) => [
      name,
      variables.split(' ').flatMap((variable) => env[variable] || [])[0],
    ]),
  ].flatMap(([name = '', value]) => (value ? [[name, redactText(value)]] : []));
  const variables = names.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[`process.environment_variable.${name}`, redactVariable(name, value)]];
  });
  return Object.fromEntries([...attributes, ...variables]);
}

const MAX_GIT_FILE_BYTES = 16 * 1024 * 1024;

// Read from the files, because starting git would delay the command. In a worktree, .git is a file that names the
// directory of HEAD, and `commondir` there leads to the one of the branches. Old branches are lines of packed-refs.
async function readGitHead(directory: string): Promise<CallAttributes> {
  const read = (path: string): Promise<string> => readRegularFile(path).catch(() => '');
  const [, link] = /^gitdir: (.+)$/m.exec(await read(join(directory, '.git'))) ?? [];
  const head = resolve(directory, link ?? '.git');
  const text = await read(join(head, 'HEAD'));
  if (text === '') return dirname(directory) === directory ? {} : readGitHead(dirname(directory));
  const [, ref] = /^ref: (refs\/heads\/.+)$/m.exec(text) ?? [];
  const common = resolve(head, (await read(join(head, 'commondir'))).trim());
  const packedLine = async (): Promise<string | undefined> =>
    (await read(join(common, 'packed-refs'))).split('\n').find((line) => line.endsWith(` ${ref}`));
  const source = ref ? (await read(join(common, ref))) || (await packedLine()) || '' : text;
  const [revision] = /^[0-9a-f]{40,64}\b/.exec(source) ?? [];
  return {
    ...(ref ? { 'vcs.ref.head.name': ref.slice('refs/heads/'.length) } : {}),
    ...(revision ? { 'vcs.ref.head.revision': revision } : {}),
  };
}

// A FIFO or a device in place of a file would delay the command, without end if nothing writes to it.
async function readRegularFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    return stats.isFile() && stats.size <= MAX_GIT_FILE_BYTES ? await file.readFile('utf8') : '';
  } finally {
    await file.close();
  }
}
