import { readdirSync, readFileSync } from 'node:fs';
import { helpTopics } from '../src/cli/docs/help-topics.ts';
import { exitCodes } from '../src/errors.ts';
import { markdownTable } from './markdown-tables.ts';

const root = new URL('../', import.meta.url);

/** What guides have between `<!-- generated: NAME -->` and `<!-- end -->`. */
const sections: { readonly [name: string]: () => string } = {
  'exit codes': () =>
    markdownTable(
      ['exit code', 'meaning', 'run again?'],
      Object.values(exitCodes).map(({ code, meaning, retry }) => [String(code), meaning, retry]),
    ),
  decisions: () => markdownTable(['decision', 'status'], decisionRows()),
  retries: () =>
    markdownTable(
      ['request', 'retried'],
      helpTopics
        .retries()
        .filter(({ heading }) => heading === 'Retried, by operation')
        .flatMap(({ entries = [] }) => entries.map(([command, when]) => [`\`svc ${command}\``, when])),
    ),
};

/** The guides with generated sections, by their path in the repository. */
export const guidesWithSections: readonly { readonly path: string; readonly text: () => string }[] = [
  { path: 'docs/exit-codes.md', text: () => withSections('docs/exit-codes.md') },
  { path: 'docs/internals/decisions/README.md', text: () => withSections('docs/internals/decisions/README.md') },
];

// The title of each decision, and the decision that replaces it, as its file says.
function decisionRows(): string[][] {
  const directory = new URL('docs/internals/decisions/', root);
  return readdirSync(directory)
    .filter((name) => /^\d{4}-/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, directory), 'utf8');
      const [, number = '', title = ''] = /^# (\d+)\. (.*)$/m.exec(text) ?? [];
      const [, replaced = ''] = /^(?:.*\. )?((?:Replaced|Superseded) by .*?\)(?: in part)?)/m.exec(text) ?? [];
      return [`[${number}. ${title}](${name})`, replaced];
    });
}

function withSections(path: string): string {
  const text = readFileSync(new URL(path, root), 'utf8');
  return text.replace(
    /(<!-- generated: (.*) -->\n)[\s\S]*?(?=<!-- end -->)/g,
    (_, start: string, name: string) => `${start}\n${sections[name]?.() ?? ''}\n\n`,
  );
}
