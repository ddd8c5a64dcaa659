import type { Profile } from './profile.ts';
import { profileOrigins, type ServiceHost } from './select-profile.ts';

/** Warnings about stored credentials whose origins are not those of the current base URLs. */
export function originMismatchWarnings(name: string, profile: Profile): string[] {
  const { password = profile.password_key, token = profile.token_key, credential_command: command } = profile;
  const hasMismatch = (allowedOrigins: readonly string[] = [], ...hosts: readonly ServiceHost[]): boolean =>
    profileOrigins(profile, hosts).some((origin) => !allowedOrigins.includes(origin));
  const warnings = [
    ...(password !== undefined && hasMismatch(profile.basic_origins, 'trace') ? ['password'] : []),
    ...(token !== undefined && hasMismatch(profile.bearer_origins, 'chat', 'train') ? ['token'] : []),
  ].map(
    (secretName) =>
      `the ${secretName} of profile "${name}" belongs to another base URL and is not sent to this one; to store one for it, run: svc auth login --profile ${name}`,
  );
  const hasCommandMismatch =
    hasMismatch(profile.basic_command_origins, 'trace') || hasMismatch(profile.bearer_command_origins, 'chat', 'train');
  if (command !== undefined && hasCommandMismatch)
    warnings.push(
      `credential_command of profile "${name}" belongs to another base URL and is not run for this one; to use it, set it again: svc profile set ${name} --credential-command …`,
    );
  return warnings;
}
