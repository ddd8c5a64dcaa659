import type { RunCommand } from '../../command.ts';
import { DEFAULT_PROFILE_NAME, LOCAL_PROFILE_NAME, profileNamed } from '../../config/profile.ts';
import { readProfiles } from '../../config/read-profiles.ts';
import { getBooleanFlag } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';

/** Lists the profiles, the built-in one last; the one in use is marked. */
export const runProfileList: RunCommand = async ({ flags }, { runtime, stdout }) => {
  const stored = await readProfiles(runtime);
  const inUse = runtime.env.SVC_PROFILE || stored.current || DEFAULT_PROFILE_NAME;
  const rows = [...Object.keys(stored.profiles).sort(), LOCAL_PROFILE_NAME].map((name) => ({
    name,
    in_use: name === inUse,
    base_url: name === LOCAL_PROFILE_NAME ? 'the embedded service' : (profileNamed(stored, name).base_url ?? null),
  }));
  const widest = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ name, in_use, base_url }) =>
    `${in_use ? '*' : ' '} ${name.padEnd(widest)}  ${base_url ?? ''}`.trimEnd(),
  );
  await stdout.write(getBooleanFlag(flags, 'json') ? `${writeJson(rows)}\n` : `${lines.join('\n')}\n`);
  await stdout.end();
};
