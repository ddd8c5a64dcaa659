/** The formats of files with a whole body. To add one, add a row, and its parser to build-body.ts. */
const bodyFormats = [
  { format: 'JSON', suffixes: ['.json'] },
  { format: 'YAML', suffixes: ['.yaml', '.yml'] },
] as const;

export type BodyFormat = (typeof bodyFormats)[number]['format'];

/** The format that the name of a file says; JSON for any other name, and for stdin. */
export function bodyFormat(path: string): BodyFormat {
  return formatOf(path)?.format ?? 'JSON';
}

/** True for a name that ends as those of files with a body do. */
export function isBodyFile(path: string): boolean {
  return formatOf(path) !== undefined;
}

/** The formats besides JSON with their files, which `describeFiles` names: `YAML in a .yaml file`. */
export function otherBodyFormats(describeFiles: (suffixes: readonly string[]) => string): string {
  const [, ...others] = bodyFormats;
  return others.map(({ format, suffixes }) => `${format} in ${describeFiles(suffixes)}`).join(', or ');
}

function formatOf(path: string) {
  return bodyFormats.find(({ suffixes }) => suffixes.some((suffix) => path.toLowerCase().endsWith(suffix)));
}
