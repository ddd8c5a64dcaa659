import type { Run } from '../cli/command.ts';
import { isOn } from '../fields/flag.ts';
import { isSecretHeader } from '../http/trace.ts';
import { type Json, writeJson } from '../json/write.ts';
import type { Profile } from '../profiles/profile.ts';
import { chooseProfile } from '../profiles/resolve.ts';

/** Shows what a profile holds, every secret as `[hidden]`. */
export const runProfileShow: Run = async ({ args, flags }, { runtime, stdout }) => {
  const { name, profile } = await chooseProfile({ profile: args[0], local: false }, runtime);
  const shown: { readonly [setting: string]: Json } = { name, ...withoutSecrets(profile) };
  const lines = Object.entries(shown).map(
    ([setting, value]) => `${setting}: ${typeof value === 'string' ? value : writeJson(value)}`,
  );
  await stdout.write(isOn(flags, 'json') ? `${writeJson(shown)}\n` : `${lines.join('\n')}\n`);
  await stdout.end();
};

function withoutSecrets({ password, token, headers, ...rest }: Profile): { readonly [setting: string]: Json } {
  const shown = Object.entries(headers ?? {}).map(
    ([name, value]) => [name, isSecretHeader(name) ? '[hidden]' : value] as const,
  );
  return {
    ...rest,
    ...(password === undefined ? {} : { password: '[hidden]' }),
    ...(token === undefined ? {} : { token: '[hidden]' }),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(shown) }),
  };
}
