import type { RunCommand } from '../../command.ts';
import { redactUserInfo } from '../../config/base-url.ts';
import { DEFAULT_PROFILE_NAME, LOCAL_PROFILE_NAME, profileNamed } from '../../config/profile.ts';
import { readProfiles } from '../../config/read-profiles.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';

/** Lists the profiles, the built-in one last; the one in use is marked. */
export const runProfileList: RunCommand = async ({ flags }, context) => {
  const output = await openResultOutput('rows', flags, context);
  const { env } = context.runtime;
  const stored = await readProfiles(context);
  const inUse = env.SVC_PROFILE || stored.current || DEFAULT_PROFILE_NAME;
  const baseUrlOf = (name: string): string | null => {
    const { base_url } = profileNamed(stored, name);
    return base_url === undefined ? null : redactUserInfo(base_url);
  };
  const rows = [...Object.keys(stored.profiles).sort(), LOCAL_PROFILE_NAME].map((name) => ({
    name,
    in_use: name === inUse,
    base_url: name === LOCAL_PROFILE_NAME ? 'the embedded service' : baseUrlOf(name),
  }));
  const table = (): string[][] => [
    ['', 'NAME', 'BASE URL'],
    ...rows.map(({ name, in_use, base_url }) => [in_use ? '*' : '', name, base_url ?? '']),
  ];
  await printResult({ ...resultOf(rows), table }, output);
  await context.stdout.end();
};
