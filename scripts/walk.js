// Follows commands through src/ with every function instrumented, and prints how far each of them walks: calls of functions
// with a name of their own (callbacks belong to the function that passes them), different functions, their files, and the
// changes of room (a directory of src/) on the way, where each function counts when it is called for the first time. The
// client's rooms are those without the local service and without the vocabulary that all rooms share. What modules do while
// they load is left out. Then it prints what the source holds.
// `npm run walk [-- --sequence]`.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build, transform } from 'esbuild';
import { parseAst } from 'vite';
import { standIns } from './stand-ins.js';

const showsSequence = process.argv.includes('--sequence');
const directory = 'node_modules/.cache/svc/walk';
const functions = [];
// The local service, and the vocabulary of all rooms.
const sharedRooms = ['local-service', 'json', 'fields', 'files', 'output', 'operations'];
const MAX_FUNCTION_LINES = 60;

const instrumented = {
  name: 'instrumented',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'ts', format: 'esm', target: 'es2023' });
      return { contents: instrument(code, relative('src', path)), loader: 'js' };
    });
  },
};

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
cpSync('dist', `${directory}/dist`, { recursive: true, filter: (path) => !/\.(js|map)$/.test(path) });
cpSync('bin', `${directory}/bin`, { recursive: true });
writeFileSync(`${directory}/package.json`, '{"type":"module"}');
await build({
  entryPoints: ['src/main.ts'],
  outdir: `${directory}/dist`,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  external: ['libsql', '@napi-rs/keyring'],
  plugins: [instrumented, standIns],
  logLevel: 'warning',
});
writeFileSync(
  `${directory}/trace.cjs`,
  `const entered = []; let loading = 0;
globalThis.__load = (change) => { loading += change; };
globalThis.__enter = (id) => { if (loading === 0) entered.push(id); };
process.on('exit', () => require('node:fs').writeFileSync(process.env.WALK_FILE, JSON.stringify(entered)));`,
);

const home = mkdtempSync(join(tmpdir(), 'svc-walk-'));
const lines = (count) => '{"messages":[{"role":"user","content":"hi"}]}\n'.repeat(count);
cpSync('test/demo/feedback.json', join(home, 'x.json'));
writeFileSync(join(home, 'one.jsonl'), lines(1));
writeFileSync(join(home, 'two.jsonl'), lines(2));
const replace = walk('feedback', 'replace', '-f', 'x.json', '--local', '-q');
const chat = walk('chat', 'hi', '--local', '-q', '--no-stdin');
const batchOf = (name) => walk('chat', '--local', '--batch', name, '-o', `${name}.out`, '-q');
const [one, two] = [batchOf('one.jsonl'), batchOf('two.jsonl')];
const call = walk('call', 'run', '--local', '--project-id', 'a/b', '--', 'true');
rmSync(home, { recursive: true });

console.log('run                               calls  functions  files  room changes  of the client  entries per room');
row('feedback replace -f x.json --local', replace);
row('chat hi --local', chat);
row('a batch of one line', one);
row('a batch of two lines', two);
row('call run -- true', call);
if (showsSequence) console.log(roomsOf(chat).join(' > '));
printSourceFigures();

// Code that the formatter laid out: a function ends at the first brace with its own indentation.
function printSourceFigures() {
  const files = sourceFiles();
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  const long = texts.flatMap((text, at) => longFunctions(text.split('\n')).map((one) => `${files[at]} ${one}`));
  const count = (pattern) => texts.reduce((sum, text) => sum + (text.match(pattern)?.length ?? 0), 0);
  const names = texts.filter((_, at) => !files[at].startsWith('src/cli/')).join('\n');
  console.log(`
src/: ${files.length} files, ${texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)} lines
options read by name outside of src/cli: ${names.match(/getStringFlag|FlagValues/g)?.length ?? 0}
types that are a ReturnType: ${count(/\bReturnType</g)}
functions over ${MAX_FUNCTION_LINES} lines, closures included: ${long.length}${long.map((one) => `\n  ${one}`).join('')}`);
}

function sourceFiles() {
  const { stdout } = spawnSync('git', ['ls-files', 'src/**.ts', 'src/**.js'], { encoding: 'utf8' });
  return stdout.trimEnd().split('\n');
}

function longFunctions(lines) {
  return lines.flatMap((line, at) => {
    const [, indent, name] =
      /^( *)(?:export )?(?:async )?function\*? (\w+)/.exec(line) ??
      /^( *)(?:export )?const (\w+).*(?:=> \{|function\*?\(.*\{|=> \(?\{?)$/.exec(line) ??
      [];
    if (name === undefined) return [];
    const length = lines.slice(at).findIndex((one) => new RegExp(`^${indent}\\}[;,)]*$`).test(one)) + 1;
    return length > MAX_FUNCTION_LINES ? [`${name} ${length}`] : [];
  });
}

function walk(...args) {
  const file = join(home, 'walk.json');
  const options = {
    cwd: home,
    env: { ...process.env, HOME: home, WALK_FILE: file },
    stdio: ['ignore', 'pipe', 'inherit'],
  };
  const { status } = spawnSync(
    process.execPath,
    ['-r', join(process.cwd(), directory, 'trace.cjs'), join(process.cwd(), directory, 'bin/svc.js'), ...args],
    options,
  );
  if (status !== 0) throw new Error(`svc ${args.join(' ')} exited with ${status}`);
  return JSON.parse(readFileSync(file, 'utf8'))
    .map((id) => functions[id])
    .filter(({ name }) => name !== undefined);
}

function row(name, entered) {
  const rooms = roomsOf(entered);
  const counts = {};
  for (const room of rooms) counts[room] = (counts[room] ?? 0) + 1;
  const figures = [
    entered.length,
    new Set(entered.map(({ id }) => id)).size,
    new Set(entered.map(({ file }) => file)).size,
    rooms.length - 1,
    rooms.filter((room) => !sharedRooms.includes(room)).filter((room, at, all) => room !== all[at - 1]).length - 1,
  ];
  const perRoom = Object.entries(counts)
    .sort(([, left], [, right]) => right - left)
    .map(([room, count]) => `${room} ${count}`)
    .join(', ');
  const [calls, used, files, changes, client] = figures.map(String);
  const columns = [calls.padStart(5), used.padStart(11), files.padStart(7), changes.padStart(14), client.padStart(15)];
  console.log(`${name.padEnd(34)}${columns.join('')}  ${perRoom}`);
}

function roomsOf(entered) {
  return (
    [...new Map(entered.map((one) => [one.id, one])).values()]
      // The files directly in src/ are shared by all rooms.
      .flatMap(({ file }) => (file.includes('/') ? [file.slice(0, file.indexOf('/'))] : []))
      .filter((room, at, all) => room !== all[at - 1])
  );
}

// Calls __enter with a number of its own at the beginning of each function.
function instrument(code, file) {
  const insertions = [];
  visit(parseAst(code));
  insertions.sort((left, right) => right.at - left.at || right.order - left.order);
  let text = code;
  for (const { at, what } of insertions) text = text.slice(0, at) + what + text.slice(at);
  return `__load(1);${text}\n__load(-1);`;

  // `name` is that of the variable, property or method whose value the node is.
  function visit(node, name) {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (!node || typeof node.type !== 'string') return;
    if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      const id = functions.push({ id: functions.length, file, name: node.id?.name ?? name }) - 1;
      const { start, end, type } = node.body;
      if (type === 'BlockStatement') insertions.push({ at: start + 1, what: `__enter(${id});`, order: start });
      else {
        insertions.push({ at: start, what: `(__enter(${id}),`, order: start });
        insertions.push({ at: end, what: ')', order: -start });
      }
    }
    const own = node.key?.name ?? node.id?.name ?? node.left?.name;
    for (const [key, value] of Object.entries(node)) visit(value, /^(init|value|right)$/.test(key) ? own : undefined);
  }
}
