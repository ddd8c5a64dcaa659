import type { Run } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { Failure } from '../errors.ts';
import { type FlagValues, isOn, textOf } from '../fields/flag.ts';
import { writeJson } from '../json/write.ts';
import { feedbackSchema } from '../operations/feedback-schema.ts';
import { defaultProfile } from '../profiles/profile.ts';
import { type Chosen, chooseProfile } from '../profiles/resolve.ts';
import { addressesOf } from './doctor/addresses.ts';
import { connectionsTo } from './doctor/connections.ts';
import { missingCredentials } from './doctor/credentials.ts';
import type { Examination, Question } from './doctor/examination.ts';
import { filesOf } from './doctor/files.ts';
import { type Finding, found, worstOf } from './doctor/finding.ts';
import { probe } from './doctor/probe.ts';
import { settingsOf } from './doctor/settings.ts';
import { examinationText } from './doctor/text.ts';
import { certificateFiles, retryLimit, timeLimit } from './options.ts';

/**
 * Shows what is configured, what gives it, and whether the service can be reached, without a secret. Throws the worst
 * of what it finds as a Failure.
 */
export const runDoctor: Run = async ({ flags }, context) => {
  const { stdout } = context;
  const examination = await examine(flags, context);
  if (isOn(flags, 'json')) await stdout.write(`${writeJson(asJson(examination))}\n`);
  else for (const { text, style } of examinationText(examination)) await stdout.write(text, style);
  await stdout.end();
  const worst = worstOf(examination.findings);
  if (worst?.code) throw new Failure(worst.code, worst.message, { hint: worst.hint, applied: 'no' });
};

async function examine(flags: FlagValues, context: Context): Promise<Examination> {
  const { runtime } = context;
  const findings: Finding[] = [];
  const question = questionOf(flags);
  const chosen =
    (await found(() => chooseProfile(question.wantedFor('trace'), runtime), findings)) ?? nobody(flags, runtime.env);
  const addresses = await addressesOf(question, chosen, runtime.env, findings);
  await found(() => timeLimit(flags, runtime.env, chosen.profile, feedbackSchema), findings);
  await found(() => retryLimit(flags, runtime.env, chosen.profile), findings);
  const settings = await settingsOf(question, flags, chosen, addresses, runtime, findings);
  const files = await filesOf(question, chosen, runtime, findings);
  findings.push(...(await missingCredentials(chosen, addresses, runtime.env)));
  const stopSpinner = context.spin('connecting');
  try {
    const connections = await connectionsTo(addresses, question, chosen, context, findings);
    const asked = isOn(flags, 'probe')
      ? await found(() => probe(question, chosen, context, findings), findings)
      : undefined;
    return { settings, files, connections, probe: asked, findings };
  } finally {
    stopSpinner();
  }
}

function questionOf(flags: FlagValues): Question {
  return {
    wantedFor: (host) => ({
      profile: textOf(flags, 'profile'),
      local: isOn(flags, 'local') === true,
      baseUrl: textOf(flags, 'base-url'),
      hostUrl: textOf(flags, `${host}-base-url`),
    }),
    files: certificateFiles(flags),
  };
}

// A profile that cannot be read is told of; the rest is examined as if it were empty.
function nobody(flags: FlagValues, env: Context['runtime']['env']): Chosen {
  const name = textOf(flags, 'profile') || env.SVC_PROFILE || defaultProfile;
  return { name, source: 'could not be read', isLocal: false, profile: {} };
}

function asJson({ settings, files, connections, probe: asked, findings }: Examination) {
  return {
    settings: settings.map((setting) => ({ ...setting })),
    files: files.map((file) => ({ ...file })),
    connections: connections.map((connection) => ({ ...connection })),
    probe: asked ? { ...asked } : undefined,
    warnings: findings.map(({ message, hint, code }) => ({ message, hint, code })),
  };
}
