import { completionScripts } from './completions.ts';
import { rootHelpModule } from './help.ts';
import { reference } from './reference.ts';

/** The files that are generated from the definitions, by their path in the repository. */
export const generatedFiles: readonly { readonly path: string; readonly text: () => string }[] = [
  { path: 'docs/reference.md', text: reference },
  { path: 'src/cli/root-help.ts', text: rootHelpModule },
  ...completionScripts.map(({ file, script }) => ({ path: `completions/${file}`, text: script })),
];
