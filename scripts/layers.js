import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../src', import.meta.url));

// Modules loaded by import() are grouped with modules needed at the same time. Each layer is loaded before those
// after it, so code that these share with it is one file, and not one for each pair of them.
const layers = {
  run: { files: ['main.ts'], after: [] },
  request: {
    files: [
      'files/has-unread-data.ts',
      'commands/chat/chat.ts',
      'commands/operation/request-command.ts',
      'fields/schema-validator.ts',
      'http/open-socket.ts',
    ],
    after: ['run'],
  },
  network: { files: ['http/transport.ts'], after: ['run', 'request'] },
  stream: {
    files: ['client/stream-chunks.ts', 'client/status-failure.ts'],
    after: ['run', 'request'],
  },
  local: { files: ['local-service/open-local-service.ts'], after: ['run', 'request'] },
  postgres: { files: ['local-service/store/postgres-store.ts'], after: ['run', 'request', 'local'] },
  words: { files: ['cli/unintended-words.ts'], after: ['run'] },
  help: { files: ['cli/docs/show-help.ts'], after: ['run'] },
  completion: { files: ['commands/completion.ts'], after: ['run'] },
};

/** Groups the modules that the source loads by import(), so that a command loads few files. Other modules are loaded alone, after `request`. */
export const layered = {
  name: 'layers',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ kind, path, importer }) => {
      if (kind !== 'dynamic-import') return undefined;
      const file = relative(src, join(dirname(importer), path)).replaceAll('\\', '/');
      const name = Object.keys(layers).find((layer) => layers[layer].files.includes(file));
      return { path: name ?? file, namespace: 'layer' };
    });
    onLoad({ filter: /.*/, namespace: 'layer' }, ({ path }) => {
      const { files, after } = layers[path] ?? { files: [path], after: ['run', 'request'] };
      const before = after.flatMap((layer) => layers[layer].files);
      const lines = [
        ...before.map((file) => `import './${file}';`),
        ...files.map((file) => `export * from './${file}';`),
      ];
      return { contents: lines.join('\n'), resolveDir: src, loader: 'ts' };
    });
  },
};
