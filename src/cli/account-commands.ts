import type { Command } from '../command.ts';
import { type Setting, settingFlag, settings } from '../config/settings.ts';
import type { Flag } from '../flag.ts';
import { baseUrlFlags, profileFlag, reportFlags, resultFlags } from './shared-flags.ts';

const yesFlag: Flag = { name: 'yes', takes: 'switch', group: 'Common', summary: 'Do not ask' };

const selectedProfileFlag: Flag = { ...profileFlag, summary: 'Profile to use; "default" if none is in use' };

const profileHeaderSummary = 'Header to send with every request; replaces the headers of the profile; repeatable';

// Secrets are never arguments: they come from svc auth login.
const profileSettingFlags: readonly Flag[] = settings
  .filter(({ isStored, flag }: Setting) => isStored && flag)
  .map(({ name }) => settingFlag(name))
  .map((flag) => (flag.name === 'header' ? { ...flag, summary: profileHeaderSummary } : flag));

/** The commands that say where requests go and as whom (PRODUCT.md section 4). */
export const accountCommands: readonly Command[] = [
  {
    words: ['auth', 'login'],
    summary: 'Store credentials in a profile',
    about:
      'Credentials are asked for on a terminal, or read from stdin or a file. They are stored for the base addresses the profile has now, and are never sent to another origin.',
    flags: [
      selectedProfileFlag,
      ...baseUrlFlags(['trace', 'chat', 'train']),
      { ...settingFlag('username'), group: 'Common' },
      { name: 'password-stdin', takes: 'switch', group: 'Common', summary: 'Read the password from stdin' },
      {
        name: 'password-file',
        takes: 'value',
        value: '<file>',
        group: 'Common',
        summary: 'Read the password from a file',
      },
      {
        name: 'token-stdin',
        takes: 'switch',
        group: 'Common',
        summary: 'Read the token for chat and training from stdin',
      },
      { name: 'token-file', takes: 'value', value: '<file>', group: 'Common', summary: 'Read the token from a file' },
      {
        name: 'keychain',
        takes: 'switch',
        group: 'Common',
        summary: "Keep the secrets in the operating system's keychain, if there is one",
      },
      ...reportFlags,
    ],
    examples: [
      {
        why: 'In a script',
        args: 'auth login --base-url https://api.example.com --token-file token.txt',
      },
      {
        why: 'On a terminal',
        args: 'auth login --base-url https://api.example.com --username api --password-file key.txt',
      },
    ],
    load: async () => (await import('../commands/auth/login.ts')).runAuthLogin,
  },
  {
    words: ['auth', 'logout'],
    summary: 'Remove the credentials of a profile',
    flags: [selectedProfileFlag, ...reportFlags],
    examples: [{ why: 'Forget the credentials of a profile', args: 'auth logout --profile staging' }],
    load: async () => (await import('../commands/auth/logout.ts')).runAuthLogout,
  },
  {
    words: ['auth', 'status'],
    summary: 'Show which credentials there are, without showing them',
    flags: [selectedProfileFlag, ...resultFlags('report'), ...reportFlags],
    examples: [{ why: 'For a script', args: 'auth status --json' }],
    load: async () => (await import('../commands/auth/status.ts')).runAuthStatus,
  },
  {
    words: ['profile', 'list'],
    summary: 'List the profiles',
    flags: [...resultFlags('rows'), ...reportFlags],
    examples: [{ why: 'List them', args: 'profile list' }],
    load: async () => (await import('../commands/profile/list.ts')).runProfileList,
  },
  {
    words: ['profile', 'show'],
    summary: 'Show a profile without its secrets',
    argument: { name: 'name', summary: 'The profile; the one in use if absent' },
    flags: [...resultFlags('record'), ...reportFlags],
    examples: [{ why: 'Show the one in use', args: 'profile show' }],
    load: async () => (await import('../commands/profile/show.ts')).runProfileShow,
  },
  {
    words: ['profile', 'set'],
    summary: 'Change a profile, or make one',
    about:
      "An empty value removes a setting: --model=, and -H '' all headers. A credential command runs for the addresses the profile has now, finds in SVC_CREDENTIAL whether basic or bearer is wanted, and has 10 s; it comes before stored credentials.",
    argument: { name: 'name', summary: 'The profile', isRequired: true },
    flags: [...profileSettingFlags, ...reportFlags],
    examples: [
      {
        why: 'Another service for chats',
        args: 'profile set work --base-url https://api.example.com --chat-base-url http://127.0.0.1:8000',
      },
      {
        why: 'A token from a password manager',
        args: 'profile set work --base-url https://api.example.com --credential-command "/usr/bin/pass show svc"',
      },
    ],
    load: async () => (await import('../commands/profile/set.ts')).runProfileSet,
  },
  {
    words: ['profile', 'use'],
    summary: 'Choose the profile to use where none is named',
    argument: { name: 'name', summary: 'The profile', isRequired: true },
    flags: reportFlags,
    examples: [{ why: 'Use the embedded service from now on', args: 'profile use local' }],
    load: async () => (await import('../commands/profile/use.ts')).runProfileUse,
  },
  {
    words: ['profile', 'remove'],
    summary: 'Remove a profile and its credentials',
    argument: { name: 'name', summary: 'The profile', isRequired: true },
    flags: [yesFlag, ...reportFlags],
    examples: [{ why: 'Without being asked', args: 'profile remove staging --yes' }],
    load: async () => (await import('../commands/profile/remove.ts')).runProfileRemove,
  },
];
