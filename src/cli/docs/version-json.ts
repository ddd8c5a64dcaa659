import { readFileSync } from 'node:fs';

interface Sbom {
  readonly metadata: {
    readonly component: { readonly name: string; readonly version: string; readonly properties?: readonly Property[] };
  };
  readonly components: readonly { readonly group?: string; readonly name: string; readonly version: string }[];
}

interface Property {
  readonly name: string;
  readonly value: string;
}

/** The output of `svc --version --json`: the commit, if the build knew it, and the bundled libraries, from the SBOM beside the bundle. */
export function versionJson(node: string): string {
  const { metadata, components }: Sbom = JSON.parse(readFileSync(new URL('sbom.cdx.json', import.meta.url), 'utf8'));
  const { name, version, properties } = metadata.component;
  const commit = properties?.find((property) => property.name === 'svc:commit')?.value ?? null;
  const libraries = components.map((one) => [[one.group, one.name].filter(Boolean).join('/'), one.version]);
  return `${JSON.stringify({ name, version, commit, node, libraries: Object.fromEntries(libraries) }, null, 2)}\n`;
}
