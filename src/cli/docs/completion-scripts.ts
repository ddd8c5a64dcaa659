import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { powershellCompletion } from './completion-powershell.ts';
import { zshCompletion } from './completion-zsh.ts';

/** The completion script of a shell, and the file that it is generated into. */
export interface CompletionScript {
  readonly name: string;
  readonly file: string;
  readonly script: () => string;
}

/** All completion scripts. They are generated from the commands, so completion starts svc only for names. */
export const completionScripts: readonly CompletionScript[] = [
  { name: 'bash', file: 'svc.bash', script: bashCompletion },
  { name: 'zsh', file: '_svc', script: zshCompletion },
  { name: 'fish', file: 'svc.fish', script: fishCompletion },
  { name: 'powershell', file: 'svc.ps1', script: powershellCompletion },
];
