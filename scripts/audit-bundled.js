// Fails if `npm audit --json` on stdin names a package that users get: one in the bundle, or a dependency of the package.
import { readFileSync } from 'node:fs';

const { components } = JSON.parse(readFileSync(new URL('../dist/sbom.cdx.json', import.meta.url), 'utf8'));
const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')).packages;
const bundled = components.map(({ group, name }) => [group, name].filter(Boolean).join('/'));
const installed = Object.entries(lock).flatMap(([path, { dev }]) => (dev || path === '' ? [] : [nameOf(path)]));
const shipped = new Set([...bundled, ...installed]);

const audit = JSON.parse(readFileSync(0, 'utf8'));
if (!audit.vulnerabilities) {
  process.stderr.write(`npm audit failed: ${audit.message ?? JSON.stringify(audit)}\n`);
  process.exit(2);
}
const found = Object.values(audit.vulnerabilities).filter(({ name }) => shipped.has(name));
for (const { name, severity, range, via } of found) {
  const advisories = via.flatMap(({ title, url }) => (title ? [`  ${title} ${url}`] : []));
  process.stdout.write([`${name} ${range}: ${severity}`, ...advisories, ''].join('\n'));
}
process.stdout.write(`${shipped.size} packages audited, ${found.length} vulnerable\n`);
process.exitCode = found.length === 0 ? 0 : 1;

function nameOf(path) {
  return path.replace(/^.*node_modules\//, '');
}
