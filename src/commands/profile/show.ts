import type { RunCommand } from '../../command.ts';
import { redactUserInfo } from '../../config/base-url.ts';
import type { Profile } from '../../config/profile.ts';
import { selectProfile } from '../../config/select-profile.ts';
import { isSecretHeader } from '../../http/verbose-log.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';

/** Shows what a profile holds, every secret as `[hidden]`. */
export const runProfileShow: RunCommand = async ({ args, flags }, context) => {
  const output = await openResultOutput('record', flags, context);
  const { name, profile } = await selectProfile({ profile: args[0], isLocal: false }, context);
  await printResult(resultOf({ name, ...redactProfile(profile) }), output);
  await context.stdout.end();
};

function redactProfile({ password, token, headers, ...rest }: Profile): { readonly [setting: string]: JsonValue } {
  const redactedHeaders = Object.entries(headers ?? {}).map(
    ([name, value]) => [name, isSecretHeader(name) ? '[hidden]' : value] as const,
  );
  const redactedRest = Object.entries(rest).map(
    ([name, value]) => [name, /base_url$/.test(name) ? redactUserInfo(String(value)) : value] as const,
  );
  return {
    ...Object.fromEntries(redactedRest),
    ...(password === undefined ? {} : { password: '[hidden]' }),
    ...(token === undefined ? {} : { token: '[hidden]' }),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(redactedHeaders) }),
  };
}
