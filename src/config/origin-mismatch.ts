import type { Profile } from './profile.ts';
import { profileOrigins, type ServiceHost } from './select-profile.ts';

/** Warnings about credentials of a profile that belong to other origins than those of its current base URLs. */
export function originMismatchWarnings(name: string, profile: Profile): string[] {
  const {
    credential_command: command,
    basic_command_origins: basicCommandOrigins = [],
    bearer_command_origins: bearerCommandOrigins = [],
  } = profile;
  const {
    password = profile.password_key,
    basic_origins: basicOrigins = [],
    token = profile.token_key,
    bearer_origins: bearerOrigins = [],
  } = profile;
  const hasMismatch = (allowedOrigins: readonly string[], hosts: readonly ServiceHost[]): boolean =>
    profileOrigins(profile, hosts).some((origin) => !allowedOrigins.includes(origin));
  const warnings = [
    ...(password !== undefined && hasMismatch(basicOrigins, ['trace']) ? ['password'] : []),
    ...(token !== undefined && hasMismatch(bearerOrigins, ['chat', 'train']) ? ['token'] : []),
  ].map(
    (secretName) =>
      `the ${secretName} of profile "${name}" belongs to another base URL and is not sent to this one; to store one for it, run: svc auth login --profile ${name}`,
  );
  const hasCommandMismatch =
    hasMismatch(basicCommandOrigins, ['trace']) || hasMismatch(bearerCommandOrigins, ['chat', 'train']);
  if (command === undefined || !hasCommandMismatch) return warnings;
  return [
    ...warnings,
    `credential_command of profile "${name}" belongs to another base URL and is not run for this one; to use it, set it again: svc profile set ${name} --credential-command …`,
  ];
}
