import type { RunCommand } from '../../command.ts';
import { redactUserInfo } from '../../config/base-url.ts';
import { findCredentialSource } from '../../config/credentials/credential-source.ts';
import { DEFAULT_PROFILE_NAME, getProfile, LOCAL_PROFILE_NAME, type Profile } from '../../config/profile.ts';
import { readProfiles } from '../../config/profile-store.ts';
import { type SelectedProfile, selectProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { type FlagValues, getStringFlag } from '../../flag.ts';
import { isSecretHeader } from '../../http/verbose-log.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';
import { REDACTED } from '../../output/reporter.ts';
import { ignoreClosedPipe } from '../../output/writer.ts';
import { openResultOutput, printResult, resultOf, type StyledText } from '../../results/print-result.ts';

/** Lists the profiles, the built-in one last; the one in use is marked. */
export const runProfileList: RunCommand = async ({ flags }, context) => {
  const output = await openResultOutput('rows', flags, context);
  const { env } = context.runtime;
  const stored = await readProfiles(context);
  const inUse = env.SVC_PROFILE || stored.current || DEFAULT_PROFILE_NAME;
  const baseUrlOf = (name: string): string | null => {
    const { base_url } = getProfile(stored, name);
    return base_url === undefined ? null : redactUserInfo(base_url);
  };
  const rows = [...Object.keys(stored.profiles).sort(), LOCAL_PROFILE_NAME].map((name) => ({
    name,
    in_use: name === inUse,
    base_url: name === LOCAL_PROFILE_NAME ? 'the local service' : baseUrlOf(name),
  }));
  const table = (): string[][] => [
    ['', 'NAME', 'BASE URL'],
    ...rows.map(({ name, in_use, base_url }) => [in_use ? '*' : '', name, base_url ?? '']),
  ];
  await printResult({ ...resultOf(rows), table }, output);
  await context.stdout.end();
};

/** Shows what a profile holds, every secret as `[redacted]`, and the credentials in effect. */
export const runProfileShow: RunCommand = async ({ args, flags }, context) => {
  await showProfile(args[0], flags, context);
};

/** Shows the same. Throws Failure `credentials` if there are none. */
export const runAuthStatus: RunCommand = async ({ flags }, context) => {
  const { name, isLocal, hasCredentials } = await showProfile(getStringFlag(flags, 'profile'), flags, context);
  if (!hasCredentials && !isLocal)
    throw new Failure('credentials', `no credentials in the environment or the profile "${name}"`, {
      hint: `run: svc auth login --profile ${name}`,
    });
};

async function showProfile(
  requestedName: string | undefined,
  flags: FlagValues,
  context: Context,
): Promise<SelectedProfile & { readonly hasCredentials: boolean }> {
  const output = await openResultOutput('report', flags, context);
  const selected = await selectProfile(new Map(requestedName ? [['profile', requestedName]] : []), context);
  const { name, isLocal, profile } = selected;
  let problem: unknown;
  const credentials = (isLocal ? [] : (['basic', 'bearer'] as const)).flatMap((scheme) => {
    try {
      const found = findCredentialSource(scheme, selected, context.runtime.env);
      return found ? [{ scheme, source: found.description, username: found.username, origins: found.origins }] : [];
    } catch (error) {
      problem = error;
      return [];
    }
  });
  const settings = redactProfile(profile);
  const text = (): StyledText[] =>
    [
      `profile: ${name}`,
      ...Object.entries(settings).map(
        ([key, value]) => `${key}: ${typeof value === 'string' ? value : writeJson(value)}`,
      ),
      ...credentials.map(
        ({ scheme, username, source, origins }) =>
          `${scheme}${username ? ` (${username})` : ''}: from ${source}${origins ? `, for ${origins.join(', ') || 'no base URL'}` : ''}`,
      ),
      ...(isLocal ? ['the local service needs no credentials'] : []),
    ].map((line) => ({ text: `${line}\n` }));
  const printing = printResult({ ...resultOf({ profile: name, ...settings, credentials }), text }, output);
  await ignoreClosedPipe(printing.then(context.stdout.end));
  if (problem) throw problem;
  return { ...selected, hasCredentials: credentials.length > 0 };
}

function redactProfile({ password, token, headers, ...rest }: Profile): { readonly [setting: string]: JsonValue } {
  const redactedHeaders = Object.entries(headers ?? {}).map(
    ([name, value]) => [name, isSecretHeader(name) ? REDACTED : value] as const,
  );
  const redactedRest = Object.entries(rest).map(
    ([name, value]) => [name, /base_url$/.test(name) ? redactUserInfo(String(value)) : value] as const,
  );
  return {
    ...Object.fromEntries(redactedRest),
    ...(password === undefined ? {} : { password: REDACTED }),
    ...(token === undefined ? {} : { token: REDACTED }),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(redactedHeaders) }),
  };
}
