import { helpText } from '../src/cli/docs/help-text.ts';
import { helpAsSkill } from '../src/cli/docs/show-help.ts';
import { manPages } from './man-pages.ts';
import { referenceMarkdown } from './reference.ts';

/** The files that are generated from the definitions, by their path in the repository. */
export const generatedFiles: readonly { readonly path: string; readonly text: () => string }[] = [
  { path: 'docs/reference.md', text: referenceMarkdown },
  ...manPages.map(({ file, text }) => ({ path: `docs/man/${file}`, text })),
  { path: 'skills/svc/SKILL.md', text: helpAsSkill },
  { path: 'src/cli/docs/root-help-text.ts', text: rootHelpModule },
];

// The help of svc at 80 columns, which is printed without loading the commands.
function rootHelpModule(): string {
  const constant = (name: string, isFull: boolean): string => {
    const text = helpText({ words: [], isFull }, 80, '{docs}').replace(/[\\`$]/g, '\\$&');
    return `\n/** The ${isFull ? 'full' : 'short'} help of svc at 80 columns. */\nexport const ${name} = \`${text}\`;\n`;
  };
  const comment = '// Generated from the commands by `npm run generate`.\n';
  return comment + constant('rootHelpText', true) + constant('rootShortHelpText', false);
}
