import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { powershellCompletion } from './completion-powershell.ts';
import { zshCompletion } from './completion-zsh.ts';

/** A shell's completion script and the file it is generated into. */
export interface CompletionScript {
  readonly name: string;
  readonly file: string;
  readonly script: () => string;
}

/** All completion scripts. They are text made from the commands, so completing costs no start of Node. */
export const completionScripts: readonly CompletionScript[] = [
  { name: 'bash', file: 'svc.bash', script: bashCompletion },
  { name: 'zsh', file: '_svc', script: zshCompletion },
  { name: 'fish', file: 'svc.fish', script: fishCompletion },
  { name: 'powershell', file: 'svc.ps1', script: powershellCompletion },
];
