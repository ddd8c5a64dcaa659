import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { getMember, itemsAt, itemsOf, kindOf, rawText, rootOf, stringOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { type BodyFlags, givenText, givenTexts } from './body-flags.ts';
import type { Draft } from './draft.ts';

const TYPOGRAPHIC_EDGE = /^["'\s]*[\u2018-\u201f\u00ab\u00bb\u00a0]|[\u201c-\u201f\u00ab\u00bb\u00a0]$/;

/** The file that a text names: of `@system.txt`, or of `system.txt` if the file exists; undefined for other texts. */
export function fileNamedBy(text: string, cwd: string): string | undefined {
  const [, at, file] = /^(@?)([\w./~-]+\.\w+)$/.exec(text) ?? [];
  return file !== undefined && (at === '@' || existsSync(resolve(cwd, file))) ? file : undefined;
}

/** What is sent as it was typed, but was probably meant differently; files are of the directory `cwd`. */
export function likelyMistakes(args: readonly string[], given: BodyFlags, hasRows: boolean, cwd: string): string[] {
  const texts = ['system', 'developer', 'prefill', 'message'].flatMap((name) =>
    [givenText(given, name) ?? givenTexts(given, name)].flat().map((text) => [name, text] as const),
  );
  const column = /\{\{ *\w[\w .-]*\}\}/.exec([...args, ...texts.map(([, text]) => text)].join('\n'))?.[0];
  const edge = args.find((word) => TYPOGRAPHIC_EDGE.test(word));
  const lists = Array.from(given.keys()).flatMap((name) =>
    givenTexts(given, name).flatMap((text) => {
      const root = /^\s*\[.*\]\s*$/s.test(text) ? tryParseJson(text) : undefined;
      if (!root || kindOf(root) !== 'list') return [];
      const values = Array.from(itemsOf(root), (item) =>
        kindOf(item) === 'string' ? `"${stringOf(item)}"` : rawText(item),
      );
      return `--${name} ${text} is one text; for several, write ${values.map((value) => `--${name} ${value}`).join(' ')}`;
    }),
  );
  const unset = Object.entries({
    model: /^$|\s/,
    system: /^$/,
    developer: /^$/,
    user: /^$/,
    'project-id': /\s\/|\/\s/,
  });
  return [
    ...unset.flatMap(([name, pattern]) => {
      const text = givenText(given, name);
      return text !== undefined && pattern.test(text)
        ? [`--${name} ${JSON.stringify(text)} is sent as it is; is a variable unset, or its value missing?`]
        : [];
    }),
    ...(/^[^:\s]+:(?!\d+$)[^:\s]+$/.test(givenText(given, 'user') ?? '')
      ? ['--user is sent in the body as the identifier of the end user; for credentials, run: svc auth login']
      : []),
    ...texts.flatMap(([name, text]) => {
      const role = name === 'message' ? (/^\w+:/.exec(text)?.[0] ?? '') : '';
      const file = fileNamedBy(text.slice(role.length), cwd);
      const written = `--${name} ${role}"$(cat ${file})"`;
      return file ? [`--${name} ${text} is sent as text; for the text of the file, write ${written}`] : [];
    }),
    ...givenTexts(given, 'set').flatMap((text) =>
      /^[^=]*[^=:]=$/.test(text)
        ? [`--set ${text} sets an empty text; is a variable unset, or its value missing?`]
        : [],
    ),
    ...(column === undefined || hasRows
      ? []
      : [`${column} is sent as it is; to fill it in from the columns of a table, add --rows <file>`]),
    ...(edge === undefined
      ? []
      : [`${JSON.stringify(edge)} begins or ends with a typographic quote or a no-break space, which is sent`]),
    ...lists,
  ];
}

/** True if the last message of a chat is a JSON array of messages as text. */
export function isMessageListAsText({ doc }: Draft): boolean {
  const content = getMember(itemsAt(rootOf(doc), 'messages').at(-1), 'content');
  const text = content && kindOf(content) === 'string' ? stringOf(content) : '';
  const root = /^\s*\[\s*\{/.test(text) ? tryParseJson(text) : undefined;
  return root !== undefined && Array.from(itemsOf(root)).every((item) => getMember(item, 'role') !== undefined);
}
