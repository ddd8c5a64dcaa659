import { bashScript } from './completion-bash.ts';
import { fishScript } from './completion-fish.ts';
import { powershellScript } from './completion-powershell.ts';
import { zshScript } from './completion-zsh.ts';

/** A shell's completion script and the file it is generated into. */
export interface CompletionScript {
  readonly name: string;
  readonly file: string;
  readonly script: () => string;
}

/** All completion scripts. They are text made from the commands, so completing costs no start of Node. */
export const completionScripts: readonly CompletionScript[] = [
  { name: 'bash', file: 'svc.bash', script: bashScript },
  { name: 'zsh', file: '_svc', script: zshScript },
  { name: 'fish', file: 'svc.fish', script: fishScript },
  { name: 'powershell', file: 'svc.ps1', script: powershellScript },
];
