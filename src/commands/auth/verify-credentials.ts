import { resolveDestination } from '../../client/destination.ts';
import { probeFeedbackSchema } from '../../client/probe-feedback-schema.ts';
import { createRequestTarget } from '../../client/request-context.ts';
import { basicCredential } from '../../config/credentials/credential.ts';
import type { Profile } from '../../config/profile.ts';
import { readProjectFile } from '../../config/project-file.ts';
import { resolveSetting } from '../../config/resolve-setting.ts';
import { routeTo } from '../../config/route.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure } from '../../errors.ts';
import { isLoopbackUrl, proxySecrets } from '../../http/proxy.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';

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

async function verifyPassword(name: string, profile: Profile, context: Context): Promise<void> {
  const { runtime, report } = context;
  const skip = (reason: string): Promise<void> => report.note(`the password was not verified: ${reason}`);
  const selected = { name, source: '--profile', isLocal: false, profile };
  const destination = resolveDestination(feedbackSchemaOperation, { isLocal: false }, selected, {});
  const { url } = destination;
  if (!url) return skip('the profile has no base URL for feedback');
  const projectFile = await readProjectFile(runtime, report.warn);
  const project = resolveSetting('project_id', { env: runtime.env, project: projectFile, selected });
  if (!project) return skip('no project is known; add --project-id to verify it');
  if (url.protocol === 'http:' && !isLoopbackUrl(url)) return skip(`${url.origin} is plain http`);
  const { authorization, secrets } = basicCredential(profile.username ?? '', profile.password ?? '');
  try {
    const route = await routeTo(url, {}, profile, context);
    report.addSecrets([...secrets, ...(route.proxy ? proxySecrets(route.proxy) : [])]);
    const description = `user "${profile.username}"`;
    const target = createRequestTarget(url, selected, { value: authorization, description });
    await probeFeedbackSchema(project.text, destination, target, route, context);
    await report.note(
      `verified the password of ${profile.username} with svc feedback schema (project ${project.text})`,
    );
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    const failure = toFailure(error);
    if (failure.code === 'bug') throw error;
    if (failure.code === 'credentials')
      throw new Failure('credentials', `${failure.message}; nothing was stored`, {
        ...failure.facts,
        hint:
          failure.facts.status === 403
            ? `ask for permission on project ${project.text}, or store the credentials anyway with --no-verify`
            : `check the user name and password for ${url.origin}, or store them anyway with --no-verify`,
      });
    await report.warn(`the password was not verified: ${failure.message}`);
  }
}
