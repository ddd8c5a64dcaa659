import { readFileSync } from 'node:fs';

/** What a file of the bundle contains: bytes by module. */
export interface BundleFile {
  readonly inputs: { readonly [module: string]: { readonly bytesInOutput: number } };
}

/** The files of the bundle, by their path in the repository. */
export const bundleFiles: { readonly [file: string]: BundleFile } = JSON.parse(
  readFileSync(new URL('../../dist/meta.json', import.meta.url), 'utf8'),
).outputs;

/** Budgets are what was measured when they were set, and this much more: who adds something small changes no budget. */
export const HEADROOM = 1.1;

const SMALL_PART_KB = 8;

// The larger parts in kB when the budgets were set.
const recorded: { readonly [part: string]: number } = {
  'src/batch': 102,
  'src/body': 40,
  'src/cli': 98,
  'src/client': 41,
  'src/commands': 117,
  'src/config': 40,
  'src/fields': 23,
  'src/files': 21,
  'src/http': 21,
  'src/json': 16,
  'src/local-service': 97,
  'src/operations': 48,
  'src/output': 18,
  'src/reports': 48,
  'src/results': 28,
  'src/train': 26,
  ajv: 112,
  commander: 40,
  conf: 9,
  'fast-uri': 18,
  'jq-wasm': 53,
  postgres: 37,
  undici: 80,
  yaml: 78,
  zod: 22,
};

/** The parts of the bundle, rooms of src/ and libraries, that grew since the budgets were set: for the one who exceeds a budget. */
export function grownParts(): string {
  const bytes = new Map<string, number>();
  for (const { inputs } of Object.values(bundleFiles))
    for (const [module, { bytesInOutput }] of Object.entries(inputs)) {
      const part = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? module.split('/').slice(0, 2).join('/');
      bytes.set(part, (bytes.get(part) ?? 0) + bytesInOutput);
    }
  const grown = [...bytes].flatMap(([part, size]) => {
    const before = recorded[part] ?? SMALL_PART_KB;
    return size / 1000 >= before + 1 && size / 1000 > before * 1.02
      ? [`${part} ${before} -> ${Math.round(size / 1000)} kB`]
      : [];
  });
  return `grown parts of the bundle: ${grown.join(', ') || 'none'}; if that is meant, record the new figures`;
}
