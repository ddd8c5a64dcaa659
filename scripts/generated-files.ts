import { guidesWithSections } from './generated-sections.ts';
import { manPages } from './man-pages.ts';
import { referenceFiles } from './reference.ts';
import { skillMarkdown } from './skill.ts';

/** The files that are generated from the definitions, by their path in the repository. */
export const generatedFiles: readonly { readonly path: string; readonly text: () => string }[] = [
  ...referenceFiles,
  ...guidesWithSections,
  ...manPages.map(({ file, text }) => ({ path: `docs/man/${file}`, text })),
  { path: 'skills/svc/SKILL.md', text: skillMarkdown },
];
