import type { Profile } from './profile.ts';
import { type Host, originsOf } from './resolve.ts';

/** Warnings about credentials of a profile that were given for other addresses than it has now. */
export function strandedCredentials(name: string, profile: Profile): string[] {
  const {
    credential_command: command,
    basic_command_origins: forBasic = [],
    bearer_command_origins: forBearer = [],
  } = profile;
  const {
    password = profile.password_key,
    basic_origins: basic = [],
    token = profile.token_key,
    bearer_origins: bearer = [],
  } = profile;
  const isStranded = (bound: readonly string[], of: readonly Host[]): boolean =>
    originsOf(profile, of).some((origin) => !bound.includes(origin));
  const stranded = [
    ...(password !== undefined && isStranded(basic, ['trace']) ? ['password'] : []),
    ...(token !== undefined && isStranded(bearer, ['chat', 'train']) ? ['token'] : []),
  ].map(
    (what) =>
      `the ${what} of "${name}" was given for another address and is not sent to this one; svc auth login --profile ${name} gives a new one`,
  );
  const isCommandStranded = isStranded(forBasic, ['trace']) || isStranded(forBearer, ['chat', 'train']);
  if (command === undefined || !isCommandStranded) return stranded;
  return [
    ...stranded,
    `the credential_command of "${name}" was set for another address and is not run for this one; set it again`,
  ];
}
