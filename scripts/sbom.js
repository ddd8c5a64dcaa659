import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The bundled packages as a CycloneDX document; equal for equal sources, so without a time or a serial number. */
export function sbomOf(packages) {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages;
  const { name, version, license } = lock[''];
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: component('application', { name, version, license }),
    },
    components: packages.map((one) => ({
      ...component('library', one),
      hashes: [sha512(lock[`node_modules/${one.name}`].integrity)],
    })),
    dependencies: [{ ref: purl({ name, version }), dependsOn: packages.map(purl) }],
  };
}

function component(type, { name, version, license }) {
  const [group] = /^@[^/]+(?=\/)/.exec(name) ?? [];
  return {
    type,
    'bom-ref': purl({ name, version }),
    ...(group ? { group, name: name.slice(group.length + 1) } : { name }),
    version,
    // An expression such as `(MIT OR Apache-2.0)`, or one license.
    licenses: [/ /.test(license) ? { expression: license } : { license: { id: license } }],
    purl: purl({ name, version }),
  };
}

function purl({ name, version }) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

// Of the archive that the registry serves.
function sha512(integrity) {
  return { alg: 'SHA-512', content: Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex') };
}

/** What `svc --version --json` prints about the build. */
export function versionOf({ metadata: { component }, components }) {
  const libraries = components.map(({ group, name, version }) => [[group, name].filter(Boolean).join('/'), version]);
  const { name, version } = component;
  return { name, version, commit: commitHash(), libraries: Object.fromEntries(libraries) };
}

// A copy of the sources without a repository has none.
function commitHash() {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}
