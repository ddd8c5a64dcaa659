import { access, constants } from 'node:fs/promises';
import { parseHeaders } from '../call/request.ts';
import type { Run } from '../cli/command.ts';
import { usage } from '../errors.ts';
import { listOf } from '../fields/flag.ts';
import { fileReason } from '../files/reason.ts';
import type { Report } from '../output/report.ts';
import { type Profile, profileName, profileOf } from '../profiles/profile.ts';
import { type Host, originsOf } from '../profiles/resolve.ts';
import { changeProfiles } from '../profiles/store.ts';
import { strandedCredentials } from '../profiles/stranded.ts';
import { changed, readSettings, type Settings } from './settings.ts';

/** Changes settings of a profile; an empty value removes one. Credentials stay, bound to the addresses they were given for. */
export const runProfileSet: Run = async ({ args: [typed = ''], flags }, { runtime, report }) => {
  const name = profileName(typed);
  const changes = readSettings(flags, runtime.cwd);
  // An empty one among them removes what there was, as with any other setting.
  const headers = Object.fromEntries(parseHeaders(listOf(flags, 'header').filter((word) => word !== '')));
  if (Object.keys(changes).length === 0 && !flags.has('header'))
    throw usage('there is nothing to set', 'svc profile set --help shows what there is');
  let after: Profile = {};
  await changeProfiles(runtime, (stored) => {
    const set = withCommand(changed(profileOf(stored, name), changes), changes);
    after = flags.has('header') ? withHeaders(set, headers) : set;
    return { ...stored, profiles: { ...stored.profiles, [name]: after } };
  });
  if (changes.cacert) await warnUnreadable(String(changes.cacert), report);
  for (const warning of strandedCredentials(name, after)) await report.warn(warning);
};

function withHeaders(
  { headers: _, header_origins, ...profile }: Profile,
  headers: Required<Profile>['headers'],
): Profile {
  if (Object.keys(headers).length === 0) return profile;
  return { ...profile, headers, header_origins: addressed(profile, 'headers belong', ['trace', 'chat', 'train']) };
}

// As a stored password belongs to the trace service and a token to the others, so does what the command prints.
function withCommand(profile: Profile, { credential_command: change }: Settings): Profile {
  if (change === undefined) return profile;
  const { basic_command_origins, bearer_command_origins, ...rest } = profile;
  if (change === '') return rest;
  addressed(rest, 'a credential_command belongs', ['trace', 'chat', 'train']);
  return {
    ...rest,
    basic_command_origins: originsOf(rest, ['trace']),
    bearer_command_origins: originsOf(rest, ['chat', 'train']),
  };
}

function addressed(profile: Profile, whatBelongs: string, hosts: readonly Host[]): string[] {
  const origins = originsOf(profile, hosts);
  if (origins.length > 0) return origins;
  throw usage(`${whatBelongs} to an address, and the profile has none`, 'give --base-url as well');
}

async function warnUnreadable(path: string, report: Report): Promise<void> {
  await access(path, constants.R_OK).catch((error: unknown) =>
    report.warn(`cannot read ${path}: ${fileReason(error)}`),
  );
}
