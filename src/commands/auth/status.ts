import type { RunCommand } from '../../command.ts';
import type { AuthScheme } from '../../config/credentials/credential.ts';
import { findCredentialSource } from '../../config/credentials/credential-source.ts';
import { selectProfile } from '../../config/select-profile.ts';
import { Failure } from '../../errors.ts';
import { getStringFlag } from '../../flag.ts';
import { ignoreClosedPipe } from '../../output/writer.ts';
import { openResultOutput, printResult, resultOf, type StyledText } from '../../results/print-result.ts';

/** Shows which credentials would be used, where they come from and where they may go. Throws Failure `credentials` for none. */
export const runAuthStatus: RunCommand = async ({ flags }, context) => {
  const { runtime } = context;
  const output = await openResultOutput('report', flags, context);
  const selectedProfile = await selectProfile({ profile: getStringFlag(flags, 'profile'), isLocal: false }, context);
  const { name, isLocal } = selectedProfile;
  const schemes: readonly AuthScheme[] = isLocal ? [] : ['basic', 'bearer'];
  const statuses = schemes.flatMap((scheme) => {
    const found = findCredentialSource(scheme, selectedProfile, runtime.env);
    return found ? [{ scheme, source: found.description, username: found.username, origins: found.origins }] : [];
  });
  const lines = statuses.map(
    ({ scheme, username, source, origins }) =>
      `${scheme}${username ? ` (${username})` : ''}: from ${source}${origins ? `, for ${origins.join(', ') || 'no base URL'}` : ''}`,
  );
  if (isLocal) lines.push('the local service needs no credentials');
  const text = (): StyledText[] => [`profile: ${name}`, ...lines].map((line) => ({ text: `${line}\n` }));
  const printing = printResult({ ...resultOf({ profile: name, credentials: statuses }), text }, output);
  await ignoreClosedPipe(printing.then(context.stdout.end));
  if (statuses.length === 0 && !isLocal)
    throw new Failure('credentials', `no credentials in the environment or the profile "${name}"`, {
      hint: `run: svc auth login --profile ${name}`,
    });
};
