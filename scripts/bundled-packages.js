import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The packages from which a file is in the bundle, by name: their directories and what their package.json says. */
export function bundledPackages(inputs) {
  const directories = Object.keys(inputs).flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
  );
  return [...new Set(directories)].sort().map((directory) => {
    const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return { directory, name, version, license };
  });
}
