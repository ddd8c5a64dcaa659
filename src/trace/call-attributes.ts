import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Runtime } from '../runtime.ts';
import { isSecretName } from './secret-names.ts';

/** Attributes of a call under the names of OpenTelemetry's semantic conventions. */
export type CallAttributes = { readonly [name: string]: string };

// Attribute, and the variables of CI systems that hold it (GitHub, GitLab, CircleCI, Buildkite, Azure Pipelines).
const ciVariables: readonly (readonly [attribute: string, variables: readonly string[]])[] = [
  [
    'vcs.ref.head.name',
    ['GITHUB_REF_NAME', 'CI_COMMIT_REF_NAME', 'CIRCLE_BRANCH', 'BUILDKITE_BRANCH', 'BUILD_SOURCEBRANCHNAME'],
  ],
  ['vcs.ref.head.revision', ['GITHUB_SHA', 'CI_COMMIT_SHA', 'CIRCLE_SHA1', 'BUILDKITE_COMMIT', 'BUILD_SOURCEVERSION']],
  ['vcs.repository.url.full', ['CI_PROJECT_URL', 'CIRCLE_REPOSITORY_URL', 'BUILDKITE_REPO', 'BUILD_REPOSITORY_URI']],
  ['cicd.pipeline.name', ['GITHUB_WORKFLOW', 'CI_PIPELINE_NAME', 'BUILDKITE_PIPELINE_SLUG', 'BUILD_DEFINITIONNAME']],
  [
    'cicd.pipeline.run.id',
    ['GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'CIRCLE_WORKFLOW_ID', 'BUILDKITE_BUILD_ID', 'BUILD_BUILDID'],
  ],
  ['cicd.pipeline.run.url.full', ['CI_PIPELINE_URL', 'CIRCLE_BUILD_URL', 'BUILDKITE_BUILD_URL']],
  ['cicd.pipeline.task.name', ['GITHUB_JOB', 'CI_JOB_NAME', 'CIRCLE_JOB', 'BUILDKITE_LABEL', 'SYSTEM_JOBDISPLAYNAME']],
  ['cicd.pipeline.task.run.id', ['CI_JOB_ID', 'BUILDKITE_JOB_ID', 'SYSTEM_JOBID']],
];

/**
 * What is recorded about where a command runs: its working directory, the commit, the CI job, and the environment
 * variables in `names`. Variables whose names say that they are secret are redacted.
 */
export async function describeSurroundings(
  { env, cwd }: Pick<Runtime, 'env' | 'cwd'>,
  names: readonly string[],
): Promise<CallAttributes> {
  const head = await readGitHead(cwd);
  const ci = ciVariables.flatMap(([attribute, variables]) => {
    const value = variables.map((name) => env[name]).find(Boolean);
    return value ? [[attribute, withoutUserInfo(value)] as const] : [];
  });
  const github =
    env.GITHUB_SERVER_URL && env.GITHUB_REPOSITORY
      ? { 'vcs.repository.url.full': `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}` }
      : {};
  const named = names.flatMap((name) => {
    const value = env[name];
    return value === undefined
      ? []
      : [[`process.environment_variable.${name}`, isSecretName(name) ? '[redacted]' : withoutUserInfo(value)] as const];
  });
  return {
    'process.working_directory': cwd,
    ...head,
    ...github,
    ...Object.fromEntries(ci),
    ...Object.fromEntries(named),
  };
}

// Read from the files, because starting git would delay the command.
async function readGitHead(directory: string): Promise<CallAttributes> {
  const text = await readFile(join(directory, '.git/HEAD'), 'utf8').catch(() => undefined);
  if (text === undefined) return dirname(directory) === directory ? {} : readGitHead(dirname(directory));
  const [, ref] = /^ref: (refs\/heads\/(?:.+))$/m.exec(text) ?? [];
  const revision = ref ? await readFile(join(directory, '.git', ref), 'utf8').catch(() => '') : text;
  return {
    ...(ref ? { 'vcs.ref.head.name': ref.slice('refs/heads/'.length) } : {}),
    ...(/^[0-9a-f]{40,64}\s*$/.test(revision) ? { 'vcs.ref.head.revision': revision.trim() } : {}),
  };
}

function withoutUserInfo(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]*(?:@[^/?#\s@]*)*@/gi, '$1');
}
