import { rootHelpModule } from './help-text.ts';
import { manPages } from './man-pages.ts';
import { referenceMarkdown } from './reference.ts';
import { completionScripts } from './show-completion.ts';

/** The files that are generated from the definitions, by their path in the repository. */
export const generatedFiles: readonly { readonly path: string; readonly text: () => string }[] = [
  { path: 'docs/reference.md', text: referenceMarkdown },
  ...manPages.map(({ file, text }) => ({ path: `docs/man/${file}`, text })),
  { path: 'src/cli/docs/root-help-text.ts', text: rootHelpModule },
  ...completionScripts.map(({ file, script }) => ({ path: `completions/${file}`, text: script })),
];
