import type { Run } from '../cli/command.ts';
import { Failure } from '../errors.ts';
import { isOn, textOf } from '../fields/flag.ts';
import { writeJson } from '../json/write.ts';
import type { Scheme } from '../profiles/credential.ts';
import { sourceOf } from '../profiles/credential-source.ts';
import { type Chosen, chooseProfile } from '../profiles/resolve.ts';
import type { Runtime } from '../runtime.ts';

/** Shows which credentials would be used, where they come from and where they may go. Throws Failure `credentials` for none. */
export const runAuthStatus: Run = async ({ flags }, { runtime, stdout }) => {
  const chosen = await chooseProfile({ profile: textOf(flags, 'profile'), local: false }, runtime);
  const { name, isLocal } = chosen;
  const schemes: readonly Scheme[] = isLocal ? [] : ['basic', 'bearer'];
  const found = schemes.flatMap((scheme) => statusOf(scheme, chosen, runtime.env));
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
  readonly scheme: Scheme;
  readonly source: string;
  readonly username: string | undefined;
  /** Where it may be sent; anywhere if absent. */
  readonly origins: readonly string[] | undefined;
}

function statusOf(scheme: Scheme, chosen: Chosen, env: Runtime['env']): Status[] {
  const source = sourceOf(scheme, chosen, env);
  return source ? [{ scheme, source: source.from, username: source.username, origins: source.origins }] : [];
}
