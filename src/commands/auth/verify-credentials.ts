import { probeFeedbackSchema } from '../../client/send.ts';
import { resolveSettings, type Settings } from '../../client/settings.ts';
import type { Profile } from '../../config/profile.ts';
import { profileOrigins } from '../../config/select-profile.ts';
import { type Setting, settings as settingsTable } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure } from '../../errors.ts';
import { isLoopbackUrl } from '../../http/proxy.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { Runtime } from '../../runtime.ts';

/**
 * Verifies the credentials of a login with a harmless request and reports what it verified and what not (docs/contract.md,
 * credentials). `profile` is the profile with them. Throws Failure `credentials` if the service rejects them.
 */
export async function verifyCredentials(
  name: string,
  profile: Profile,
  entered: Profile,
  context: Context,
): Promise<void> {
  const { report } = context;
  if (entered.basic_origins) await verifyPassword(name, profile, context);
  if (entered.bearer_origins)
    await report.note('the token was not verified: every request that uses it costs money or changes data');
}

async function verifyPassword(
  name: string,
  { credential_command, ...profile }: Profile,
  context: Context,
): Promise<void> {
  const { runtime, report } = context;
  const skip = (reason: string): Promise<void> => report.note(`the password was not verified: ${reason}`);
  if (profileOrigins(profile, ['trace']).length === 0) return skip('the profile has no base URL for feedback');
  const selected = { name, source: '--profile', isLocal: false, profile };
  // What is verified is the profile, not what the environment has for other requests.
  const ownContext = { ...context, runtime: { ...runtime, env: withoutConnection(runtime.env) } };
  let settings: Settings | undefined;
  try {
    settings = await resolveSettings(feedbackSchemaOperation, new Map(), ownContext, selected);
    const { project } = settings.defaults;
    if (!project.text) return await skip('no project is known; add --project-id to verify it');
    const url = settings.destination?.url;
    if (url?.protocol === 'http:' && !isLoopbackUrl(url)) return await skip(`${url.origin} is plain http`);
    await probeFeedbackSchema(project.text, settings, ownContext);
    await report.note(
      `verified the password of ${profile.username} with svc feedback schema (project ${project.text})`,
    );
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    const failure = toFailure(error);
    if (failure.code === 'bug') throw error;
    if (failure.code === 'credentials' && settings)
      throw new Failure('credentials', `${failure.message}; nothing was stored`, {
        ...failure.facts,
        hint:
          failure.facts.status === 403
            ? `ask for permission on project ${settings.defaults.project.text}, or store the credentials anyway with --no-verify`
            : `check the user name and password for ${settings.destination?.url.origin}, or store them anyway with --no-verify`,
      });
    await report.warn(`the password was not verified: ${failure.message}`);
  }
}

// The environment without base URLs and credentials.
function withoutConnection(env: Runtime['env']): Runtime['env'] {
  const names = settingsTable.flatMap(({ kind, variable }: Setting) =>
    variable && ['url', 'username', 'secret'].includes(kind) ? [variable] : [],
  );
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
