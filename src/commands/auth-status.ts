import type { Run } from '../cli/command.ts';
import { Failure } from '../errors.ts';
import { isOn, textOf } from '../fields/flag.ts';
import { writeJson } from '../json/write.ts';
import type { Profile } from '../profiles/profile.ts';
import { chooseProfile } from '../profiles/resolve.ts';
import type { Runtime } from '../runtime.ts';

/** Shows which credentials would be used, where they come from and where they may go. Throws Failure `credentials` for none. */
export const runAuthStatus: Run = async ({ flags }, { runtime, stdout }) => {
  const { name, isLocal, profile } = await chooseProfile({ profile: textOf(flags, 'profile'), local: false }, runtime);
  const found = isLocal
    ? []
    : [...basicStatus(name, profile, runtime.env), ...bearerStatus(name, profile, runtime.env)];
  const lines = found.map(
    ({ scheme, username, source, origins }) =>
      `${scheme}${username ? ` (${username})` : ''}: from ${source}${origins ? `, for ${origins.join(', ') || 'no address'}` : ''}`,
  );
  if (isLocal) lines.push('the embedded service needs no credentials');
  const text = isOn(flags, 'json')
    ? writeJson({ profile: name, credentials: found.map((status) => ({ ...status })) })
    : [`profile: ${name}`, ...lines].join('\n');
  await stdout.write(`${text}\n`);
  await stdout.end();
  if (found.length === 0 && !isLocal)
    throw new Failure('credentials', `there are no credentials in the environment or the profile "${name}"`, {
      hint: 'svc auth login',
    });
};

interface Status {
  readonly scheme: 'basic' | 'bearer';
  readonly source: string;
  readonly username: string | undefined;
  /** Where it may be sent; anywhere if absent. */
  readonly origins: readonly string[] | undefined;
}

function basicStatus(
  name: string,
  { username, password, basic_origins: origins }: Profile,
  env: Runtime['env'],
): Status[] {
  if (env.SVC_USERNAME && env.SVC_PASSWORD) {
    return [
      { scheme: 'basic', source: 'SVC_USERNAME and SVC_PASSWORD', username: env.SVC_USERNAME, origins: undefined },
    ];
  }
  return password === undefined
    ? []
    : [{ scheme: 'basic', source: `profile "${name}"`, username, origins: origins ?? [] }];
}

function bearerStatus(name: string, { token, bearer_origins: origins }: Profile, env: Runtime['env']): Status[] {
  if (env.SVC_TOKEN) return [{ scheme: 'bearer', source: 'SVC_TOKEN', username: undefined, origins: undefined }];
  return token === undefined
    ? []
    : [{ scheme: 'bearer', source: `profile "${name}"`, username: undefined, origins: origins ?? [] }];
}
