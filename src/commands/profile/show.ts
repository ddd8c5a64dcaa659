import type { RunCommand } from '../../command.ts';
import type { Profile } from '../../config/profile.ts';
import { selectProfile } from '../../config/select-profile.ts';
import { getBooleanFlag } from '../../flag.ts';
import { isSecretHeader } from '../../http/verbose-log.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';

/** Shows what a profile holds, every secret as `[hidden]`. */
export const runProfileShow: RunCommand = async ({ args, flags }, { runtime, stdout }) => {
  const { name, profile } = await selectProfile({ profile: args[0], isLocal: false }, runtime);
  const redacted: { readonly [setting: string]: JsonValue } = { name, ...redactProfile(profile) };
  const lines = Object.entries(redacted).map(
    ([setting, value]) => `${setting}: ${typeof value === 'string' ? value : writeJson(value)}`,
  );
  await stdout.write(getBooleanFlag(flags, 'json') ? `${writeJson(redacted)}\n` : `${lines.join('\n')}\n`);
  await stdout.end();
};

function redactProfile({ password, token, headers, ...rest }: Profile): { readonly [setting: string]: JsonValue } {
  const redactedHeaders = Object.entries(headers ?? {}).map(
    ([name, value]) => [name, isSecretHeader(name) ? '[hidden]' : value] as const,
  );
  return {
    ...rest,
    ...(password === undefined ? {} : { password: '[hidden]' }),
    ...(token === undefined ? {} : { token: '[hidden]' }),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(redactedHeaders) }),
  };
}
