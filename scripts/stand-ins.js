import { readFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';

// Modules that libraries import but that svc never uses.
const unused = [
  // Schemas, migrations and watching of a store; ours has none.
  { path: /^(ajv(-formats)?|semver|debounce-fn|env-paths|node:crypto)(\/|$)/, importer: /\/conf\// },
  // Removes temporary files at a signal, and then sends the signal again, which a batch takes for a second one.
  { path: /^when-exit$/, importer: /\/atomically\// },
  // Commands that are separate programs.
  { path: /^node:child_process$/, importer: /\/commander\// },
  // Writing of YAML, and the types of YAML 1.1, which svc rejects.
  { path: /\/(stringify\w*|timestamp|omap|pairs|set|binary)\.js$/, importer: /\/yaml\/browser\// },
  // A keyword of OpenAPI in schemas, which is off.
  { path: /\/discriminator$/, importer: /\/ajv\// },
  // Large objects, of which svc has none.
  { path: /\/large\.js$/, importer: /\/postgres\// },
  // HTTP/2, form bodies, and Node's HTTP client, of which undici needs a default export and a class to compare with.
  { path: /\/client-h2\.js$|\/fetch\/body\.js$|^node:http$/, importer: /\/undici\// },
];

// The HTTP parser in WebAssembly. As text in the bundle it would be parsed each time. The build with SIMD saves no time that
// can be measured, and not every machine runs it.
const httpParser = /\/undici\/lib\/llhttp\/llhttp.*-wasm\.js$/;

// 90 spinners, of which ora shows two.
const spinners = /\/cli-spinners\/spinners\.json$/;
const usedSpinners = ['dots', 'line'];

// jq-wasm sets up an environment of its own, and prints that it ran out of memory, which svc reports itself.
const jq = /\/jq-wasm\/dist\/index\.mjs$/;
const jqEdits = [
  [/var env = \{ USER: "web_user"[^}]*\};/, 'var env = {};'],
  ['console.error(message);', ''],
];

// The URLs in JSON Schemas, which Ajv splits at the fragment and resolves. The library also normalizes every kind of URI.
const schemaUriResolver = `
const pathOf = (uri) => uri.split('#', 1)[0];
module.exports = {
  parse: (uri) => ({ path: pathOf(uri), fragment: uri.includes('#') ? uri.slice(uri.indexOf('#') + 1) : undefined }),
  serialize: ({ path, fragment }) => (fragment === undefined ? path : path + '#' + fragment),
  resolve: (base, uri) => {
    if (uri === '' || uri[0] === '#') return pathOf(base) + uri;
    return URL.canParse(uri, base || undefined) ? new URL(uri, base || undefined).href : uri;
  },
};`;

const names = new RegExp(`^(node:.*|${builtinModules.join('|')})$`);

// A minimal assert in place of the library.
const assertion = `
const library = () => process.getBuiltinModule('node:assert');
module.exports = (value, ...message) => value || library()(value, ...message);
for (const name of ['equal', 'notEqual', 'strictEqual', 'notStrictEqual', 'deepStrictEqual'])
  module.exports[name] = (...values) => library()[name](...values);`;

/**
 * Gives libraries something empty for what they do not use, and everybody Node's modules without a way through the
 * loader of ES modules, which would look at every export of them: of some that loads others.
 */
export const standIns = {
  name: 'stand-ins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
      const isUnused = unused.some((one) => one.path.test(path) && one.importer.test(importer));
      if (isUnused) return { path, namespace: 'unused' };
      if (path === 'fast-uri') return { path, namespace: 'schema-uris' };
      if (/\.wasm$/.test(path)) return { path, namespace: 'wasm' };
      if (!names.test(path) || kind === 'dynamic-import') return undefined;
      return { path: path.replace(/^node:/, ''), namespace: kind === 'import-statement' ? 'node' : 'required' };
    });
    onLoad({ filter: httpParser }, () => ({ contents: `module.exports = require('llhttp.wasm').bytes` }));
    onLoad({ filter: spinners }, ({ path }) => {
      const all = JSON.parse(readFileSync(path, 'utf8'));
      return {
        contents: JSON.stringify(Object.fromEntries(usedSpinners.map((name) => [name, all[name]]))),
        loader: 'json',
      };
    });
    onLoad({ filter: jq }, ({ path }) => ({ contents: edit(readFileSync(path, 'utf8'), jqEdits) }));
    onLoad({ filter: /.*/, namespace: 'wasm' }, ({ path }) => ({
      contents: `export const bytes = ${builtin('fs')}.readFileSync(new URL('./${path}', import.meta.url))`,
    }));
    onLoad({ filter: /.*/, namespace: 'schema-uris' }, () => ({ contents: schemaUriResolver }));
    onLoad({ filter: /.*/, namespace: 'unused' }, () => ({
      contents: 'module.exports = () => {}; module.exports.env = {}',
    }));
    onLoad({ filter: /.*/, namespace: 'required' }, ({ path }) => ({
      contents: path === 'assert' ? assertion : `module.exports = ${builtin(path)}`,
    }));
    onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => ({
      contents: [
        `const whole = ${builtin(path)}; export default whole;`,
        ...namesIn(path).map((name) => `export const ${name} = /* @__PURE__ */ (() => whole.${name})();`),
      ].join('\n'),
    }));
  },
};

function edit(text, edits) {
  return edits.reduce((whole, [from, to]) => {
    const edited = whole.replace(from, to);
    if (edited === whole) throw new Error(`a library has changed: it does not contain ${from}`);
    return edited;
  }, text);
}

function builtin(path) {
  return `process.getBuiltinModule('node:${path}')`;
}

function namesIn(path) {
  return Object.keys(createRequire(import.meta.url)(`node:${path}`)).filter((name) => /^[A-Za-z]\w*$/.test(name));
}
