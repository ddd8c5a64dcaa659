import type { Command } from '../../command.ts';
import {
  probeFlags,
  type ServiceOptions,
  type Setting,
  type StoredOptions,
  settingFlag,
  settingFlagName,
  settings,
  type VariableOptions,
} from '../../config/settings.ts';
import { type FlagList, joinFlags, withDefault } from '../../flag.ts';
import { credentialFlags, yesFlag } from './command-flags.ts';
import { command, defineCommands } from './define-commands.ts';

function selectedProfileFlag(): FlagList<{ readonly profile: string | undefined }> {
  const details = withDefault({ summary: 'Profile to use', default: 'the one in use, else "default"' });
  return [{ ...settingFlag('profile'), group: 'Common', ...details }];
}

function loginSettingFlags(): FlagList<
  Pick<StoredOptions, 'baseUrl' | 'traceBaseUrl' | 'chatBaseUrl' | 'trainBaseUrl' | 'username'>
> {
  const names = ['base_url', 'trace_base_url', 'chat_base_url', 'train_base_url', 'username'] as const;
  return names.map((name) => ({ ...settingFlag(name), group: 'Common' }));
}

// How to connect for the request that verifies a password.
function verificationFlags(): FlagList<Omit<ServiceOptions, 'profile' | 'baseUrl' | keyof VariableOptions | 'local'>> {
  const variables = settings.filter(({ kind }: Setting) => kind === 'variable').map(settingFlagName);
  return probeFlags().filter(({ name }) => !['profile', 'base-url', ...variables, 'local'].includes(name));
}

function projectFlag(): FlagList<Pick<StoredOptions, 'projectId'>> {
  return [settingFlag('project_id')];
}

// Secrets are never arguments: they come from svc auth login.
function profileSettingFlags(): FlagList<StoredOptions> {
  const summary = 'Header to send with every request; replaces the headers of the profile (repeatable)';
  return settings
    .filter(({ isStored, flag }: Setting) => isStored && flag)
    .map(({ name }) => ({ ...settingFlag(name), group: 'Common', ...(name === 'headers' ? { summary } : {}) }));
}

export const accountCommands: readonly Command[] = defineCommands('Credentials and profiles', {
  'auth login': command({
    summary: 'Store credentials in a profile',
    about:
      'Prompts for credentials on a terminal, or reads them from stdin or a file; secrets are never accepted as arguments. svc verifies a password with feedback schema if it knows a project, and does not store a password that the service rejects; the flags under Connection are those of that request (svc profile set stores such settings). It does not verify a token: that would cost money or change data. A server on loopback needs no login, and --no-token records that another one needs no credentials; an empty answer to a prompt never replaces stored credentials. Credentials are sent only to the current base URLs of the profile.',
    flags: () =>
      joinFlags(selectedProfileFlag(), loginSettingFlags(), credentialFlags, projectFlag(), verificationFlags()),
    examples: {
      'auth login --base-url https://api.example.com --token-file token.txt': 'Store a token from a file',
      'auth login --base-url http://gpu.example.com:8000 --no-token': 'Use a model server without a key',
      'auth login --base-url https://api.example.com --username api --password-file key.txt':
        'Store a user name, and a password from a file',
    },
    load: async () => (await import('../auth.ts')).runAuthLogin,
  }),
  'auth logout': command({
    summary: 'Remove the credentials of a profile',
    flags: selectedProfileFlag,
    examples: { 'auth logout --profile staging': 'Remove the credentials of the profile staging' },
    load: async () => (await import('../auth.ts')).runAuthLogout,
  }),
  'auth status': command({
    summary: 'Show the profile and the credentials in effect, redacted',
    about: 'The same as svc profile show, but exits with 4 if there are no credentials.',
    flags: selectedProfileFlag,
    result: 'report',
    isQuiet: true,
    examples: { 'auth status --json': 'Print the status as JSON' },
    load: async () => (await import('../profile.ts')).runAuthStatus,
  }),
  'profile list': command({
    summary: 'List the profiles',
    result: 'rows',
    isQuiet: true,
    examples: { 'profile list': 'List all profiles' },
    load: async () => (await import('../profile.ts')).runProfileList,
  }),
  'profile show': command({
    summary: 'Show a profile and the credentials in effect, redacted',
    argument: { name: 'name', summary: 'The profile (default: the one in use)', completes: 'profiles' },
    result: 'report',
    isQuiet: true,
    examples: { 'profile show': 'Show the profile in use' },
    load: async () => (await import('../profile.ts')).runProfileShow,
  }),
  'profile set': command({
    summary: 'Create or change a profile',
    about:
      "An empty value removes a setting: --model= removes the model, -H '' all headers. A credential command is bound to the current base URLs of the profile and takes precedence over stored credentials. svc runs it with SVC_CREDENTIAL set to basic or bearer, for at most 10 s.",
    argument: { name: 'name', summary: 'The profile', isRequired: true, completes: 'profiles' },
    flags: profileSettingFlags,
    examples: {
      'profile set work --base-url https://api.example.com --chat-base-url http://127.0.0.1:8000':
        'Use another service for chats',
      'profile set work --base-url https://api.example.com --credential-command "/usr/bin/pass show svc"':
        'Get the token from a password manager',
    },
    load: async () => (await import('../profile.ts')).runProfileSet,
  }),
  'profile use': command({
    summary: 'Select the default profile',
    argument: { name: 'name', summary: 'The profile', isRequired: true, completes: 'profiles' },
    examples: { 'profile use local': 'Make the local service the default' },
    load: async () => (await import('../profile.ts')).runProfileUse,
  }),
  'profile remove': command({
    summary: 'Remove a profile and its credentials',
    argument: { name: 'name', summary: 'The profile', isRequired: true, completes: 'profiles' },
    flags: () => yesFlag,
    examples: { 'profile remove staging --yes': 'Remove a profile without confirmation' },
    load: async () => (await import('../profile.ts')).runProfileRemove,
  }),
});
