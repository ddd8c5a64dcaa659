import type { Run } from '../cli/command.ts';
import { isOn } from '../fields/flag.ts';
import { writeJson } from '../json/write.ts';
import { defaultProfile, localProfile, profileOf } from '../profiles/profile.ts';
import { readProfiles } from '../profiles/read.ts';

/** Lists the profiles, the built-in one last; the one in use is marked. */
export const runProfileList: Run = async ({ flags }, { runtime, stdout }) => {
  const stored = await readProfiles(runtime);
  const inUse = runtime.env.SVC_PROFILE || stored.current || defaultProfile;
  const rows = [...Object.keys(stored.profiles).sort(), localProfile].map((name) => ({
    name,
    in_use: name === inUse,
    base_url: name === localProfile ? 'the embedded service' : (profileOf(stored, name).base_url ?? null),
  }));
  const widest = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ name, in_use, base_url }) =>
    `${in_use ? '*' : ' '} ${name.padEnd(widest)}  ${base_url ?? ''}`.trimEnd(),
  );
  await stdout.write(isOn(flags, 'json') ? `${writeJson(rows)}\n` : `${lines.join('\n')}\n`);
  await stdout.end();
};
