import type { RunCommand } from '../../command.ts';
import { redactUserInfo } from '../../config/base-url.ts';
import { DEFAULT_PROFILE_NAME, getProfile, LOCAL_PROFILE_NAME, type Profile } from '../../config/profile.ts';
import { readProfiles } from '../../config/read-profiles.ts';
import { selectProfile } from '../../config/select-profile.ts';
import { isSecretHeader } from '../../http/verbose-log.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { REDACTED } from '../../output/redact.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';

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

/** Shows what a profile holds, every secret as `[redacted]`. */
export const runProfileShow: RunCommand = async ({ args, flags }, context) => {
  const output = await openResultOutput('record', flags, context);
  const { name, profile } = await selectProfile({ profile: args[0], isLocal: false }, context);
  await printResult(resultOf({ name, ...redactProfile(profile) }), output);
  await context.stdout.end();
};

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
