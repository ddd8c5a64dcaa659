import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_BATCH_OPTIONS } from '../../src/batch/batch-options.ts';
import { allCommands, commandGroups } from '../../src/cli/all-commands.ts';
import { type ReadLine, runCommandLine } from '../../src/cli/command-tree.ts';
import { exampleLine, helpText } from '../../src/cli/docs/help-text.ts';
import { helpTopics } from '../../src/cli/docs/help-topics.ts';
import { prepareCommandLine } from '../../src/cli/prepare-command-line.ts';
import { reportFlags } from '../../src/commands/definitions/define-commands.ts';
import { bodyFlags } from '../../src/commands/definitions/operation-commands.ts';
import { mcpTools } from '../../src/commands/mcp/tools.ts';
import { type Setting, settingFlagName, settings } from '../../src/config/settings.ts';
import { type Field, flagName, sampleValue } from '../../src/fields/field.ts';
import { flagForms, flagGroup, flagTerm, optionKey } from '../../src/flag.ts';
import { writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { changesNothing, flagTarget } from '../../src/operations/operation.ts';
import { resultFilters } from '../../src/output/output-format.ts';
import { reportFiles } from '../../src/reports/run-report.ts';
import { run } from '../support/process.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';
import { shellWords } from '../support/words.ts';

// Typed by hand (docs/internals/contract.md, section 6): the code, whether to run again, and words that its meaning has.
const contract: readonly (readonly [code: number, again: string, ...words: string[]])[] = [
  [0, '', 'done'],
  [1, '', 'bug in svc'],
  [2, 'after fixing the input', 'command line', 'environment'],
  [3, 'after fixing the input', 'body is invalid', 'nothing was sent'],
  [4, 'after fixing the input', 'credentials', 'missing', 'rejected', '401', '403'],
  [5, 'no', 'rejected the request', '3xx', '4xx', 'not applied'],
  [
    6,
    'only if the request is safe to retry',
    'failed',
    '500',
    '501',
    '503 without Retry-After',
    'may have been applied',
  ],
  [7, 'yes', 'could not connect', 'not sent completely', 'not applied'],
  [8, 'only if the request is safe to retry', 'outcome unknown', 'lost', 'timed out', '502', '504', '52x'],
  [9, 'later', 'rate limited', 'unavailable', '408, 421, 425, 429', '503 with Retry-After', 'not applied'],
  [10, 'yes, with --resume; unknown lines with --retry-unknown', 'lines of a batch failed'],
  [11, 'no', 'invalid response', 'stream was cut', 'applied'],
  [12, 'after fixing the input', 'file', 'pipe', 'disk'],
  [13, 'after reviewing the cause', 'safety check', 'duplicate job', 'insecure transport', 'expectation'],
  [129, 'as 8 if the request was sent', 'SIGHUP'],
  [130, 'as 8 if the request was sent', 'interrupted'],
  [143, 'as 8 if the request was sent', 'terminated'],
];

// Typed by hand (docs/internals/contract.md, section 4).
const variables = [
  ...['SVC_PROFILE', 'SVC_BASE_URL', 'SVC_TRACE_BASE_URL', 'SVC_CHAT_BASE_URL', 'SVC_TRAIN_BASE_URL'],
  ...['SVC_USERNAME', 'SVC_PASSWORD', 'SVC_TOKEN', 'SVC_PROJECT_ID', 'SVC_MODEL', 'SVC_TIMEOUT', 'SVC_RETRIES'],
  ...['SVC_ERROR_FORMAT', 'SVC_SHARD', 'SVC_HISTORY', 'SVC_NO_PROJECT_FILE', 'SVC_CONFIG_DIR', 'SVC_DATA_DIR'],
  ...['CLICOLOR', 'CLICOLOR_FORCE', 'COLUMNS', 'TERM', 'CI'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'NO_COLOR', 'FORCE_COLOR'],
];

const demo = new URL('../demo', import.meta.url).pathname;
const source = new URL('../../src', import.meta.url).pathname;
const sourceFiles = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(source, name));
const named = allCommands.map((command) => ({ command, name: command.words.join(' ') }));

async function lineOf(words: readonly string[]): Promise<ReadLine | undefined> {
  let found: ReadLine | undefined;
  await runCommandLine(prepareCommandLine(words), demo, async (line) => {
    found = line;
  });
  return found;
}

describe('every example', () => {
  const examples = allCommands.flatMap((command) =>
    command.examples.map((example) => ({ command, example, line: exampleLine(example) })),
  );

  it.each(examples)('is a command line: $line', async ({ command, example }) => {
    expect((await lineOf(shellWords(example.args)))?.command.words).toEqual(command.words);
  });

  const bodies = examples.filter(({ command }) =>
    allOperations.some((operation) => operation.command === command.words),
  );

  it.each(bodies)('has a body that passes: $line', async ({ example }) => {
    const home = temporaryDirectory();
    const env = { SVC_CONFIG_DIR: home, SVC_DATA_DIR: home };
    const { code, stderr } = await svc([...shellWords(example.args), '--dry-run', '--strict'], {
      cwd: demo,
      env,
      stdin: 'from' in example ? (await svc(shellWords(example.from ?? ''))).stdout : (example.stdin ?? ''),
    });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(existsSync(join(demo, 'config'))).toBe(false);
  });
});

describe('the flags of a command', () => {
  it.each(named)('svc $name: a flag is defined by the form that help prints', ({ command }) => {
    for (const flag of command.flags) {
      const { name, short, takes, value, summary, group } = flag;
      // Only fields of a body have both --x and --no-x.
      if (takes === 'boolean') continue;
      const form = `${flagTerm(flag)}${takes === 'values' ? '...' : ''}`;
      expect(flagGroup(group, { [form]: summary })).toEqual([{ name, short, takes, value, summary, group }]);
    }
  });

  it('that name their values in help have them as choices, for completion and programs', () => {
    const found = allCommands.flatMap(({ words, flags }) =>
      flags
        .filter(({ summary, choices }) => !choices && /: [a-z]+(, [a-z]+)* or [a-z]+ \(default/.test(summary))
        .map(({ name }) => `${words.join(' ')} --${name}`),
    );
    expect(found).toEqual([]);
  });

  it('that have choices name them in help', () => {
    const listed = allCommands.flatMap(({ name, flags }) => flags.map((flag) => ({ name, flag })));
    const found = listed.filter(
      ({ flag: { choices = [], isHidden, value = '', summary } }) =>
        !isHidden && choices.some((choice) => !`${value} ${summary}`.split(/[^\w-]+/).includes(choice)),
    );
    expect(found.map(({ name, flag }) => `${name} --${flag.name}`)).toEqual([]);
  });

  it.each(named)('svc $name: names, also of the negative forms, and letters are unique', ({ command }) => {
    const names = command.flags.flatMap(({ name, takes }) =>
      takes === 'boolean' ? [name, `no-${name}`] : takes === 'off' ? [`no-${name}`] : [name],
    );
    const letters = command.flags.flatMap(({ short }) => (short ? [short] : []));
    expect(names).toEqual([...new Set(names)]);
    expect(letters).toEqual([...new Set(letters)]);
    expect([...names, 'help'].every((name) => /^[a-z][a-z0-9-]*$/.test(name))).toBe(true);
  });

  it.each(named)('svc $name: the file of a report is refused where nothing is sent', ({ name, command }) => {
    const flags = command.flags.filter((one) => reportFiles.some(({ flag }) => flag === one.name));
    for (const { name: flag, conflicts } of flags)
      expect(conflicts, `add conflicts: preview to --${flag}`).toEqual(expect.arrayContaining(['dry-run', 'curl']));
    if (name === 'chat') expect(flags).toHaveLength(reportFiles.length);
  });

  it.each(named)('svc $name: a flag that one conflicts with exists', ({ command }) => {
    const forms = new Set(command.flags.flatMap(flagForms));
    const unknown = command.flags.flatMap(({ name, conflicts = [] }) =>
      conflicts.filter((other) => !forms.has(`--${other}`)).map((other) => `--${name} conflicts with --${other}`),
    );
    expect(unknown, 'correct these names, or leave them out').toEqual([]);
  });

  it('use only the letters of the contract', () => {
    const letters = new Map(
      allCommands.flatMap(({ flags }) => flags.flatMap(({ name, short }) => (short ? [[short, name] as const] : []))),
    );
    expect(Object.fromEntries(letters)).toEqual({
      f: 'file',
      o: 'output',
      m: 'model',
      n: 'dry-run',
      s: 'system',
      H: 'header',
      v: 'verbose',
      q: 'quiet',
      y: 'yes',
    });
  });

  it.each(named)('svc $name accepts those about reporting', ({ command }) => {
    expect(command.flags.map(({ name }) => name)).toEqual(expect.arrayContaining(reportFlags.map(({ name }) => name)));
  });

  it('are read somewhere, and so are settings', () => {
    const tables = /\/definitions\/|cli\/help-command\.ts$|config\/settings\.ts$|\/[\w-]+-flags\.ts$/;
    const launcher = new URL('../../bin/svc.js', import.meta.url).pathname;
    const paths = [...sourceFiles.filter((path) => !tables.test(path)), launcher];
    const readers = paths.map((path) => readFileSync(path, 'utf8'));
    const isInEnv = (name = ''): boolean =>
      name !== '' && readers.some((text) => new RegExp(`\\b${name}\\b`).test(text));
    const unread = settings.filter(
      ({ name, variable }: Setting) => !readers.some((text) => text.includes(`'${name}'`)) && !isInEnv(variable),
    );
    expect(
      unread.map(
        ({ name }) =>
          `nothing reads the setting ${name} of src/config/settings.ts: read it with resolveSetting('${name}', ...) or environmentSetting('${name}', env), a credential with a row of credentialSettings in src/config/environment.ts, or remove its line`,
      ),
    ).toEqual([]);
    // Fields are read by the operation that has them, settings by their table.
    const fields = new Set(allOperations.flatMap(bodyFlags).map(({ name }) => name));
    const stored = new Set(settings.map(settingFlagName));
    const isOption = (key: string): boolean =>
      readers.some((text) => new RegExp(`\\.${key}\\b|'${key}'|[{,]\\s*${key}\\b(?=[^()]*\\}(?: =|:) )`).test(text));
    const own = allCommands
      .flatMap(({ flags }) => flags)
      .filter(
        ({ name }) =>
          !fields.has(name) &&
          !stored.has(name) &&
          !Object.hasOwn(resultFilters, name) &&
          !readers.some((text) => text.includes(`lastToken('${name}')`)),
      );
    const names = own.map(({ name, takes }) => (takes === 'off' ? `no-${name}` : name));
    const ownersOf = (name: string): string[] =>
      allCommands
        .filter(({ flags }) => flags.some((flag) => flagForms(flag).includes(`--${name}`)))
        .map((one) => `svc ${one.name}`);
    expect(
      [...new Set(names)]
        .filter((name) => !isOption(optionKey(name)))
        .map(
          (name) =>
            `nothing reads --${name} (${ownersOf(name).join(', ')}): read options.${optionKey(name)} where the command starts, in src/commands/, or remove the line from its table of flags`,
        ),
    ).toEqual([]);
  });

  it.each(Object.keys(DEFAULT_BATCH_OPTIONS))('of a batch have an effect: %s is used', (option) => {
    const users = sourceFiles.filter((path) => /\/batch\//.test(path) && !path.endsWith('/batch-options.ts'));
    const isUsed = users.some((path) => new RegExp(`\\b${option}\\b`).test(readFileSync(path, 'utf8')));
    expect(isUsed, `read ${option} in src/batch/send/, or remove it from batch-options.ts`).toBe(true);
  });

  it('of svc mcp offer the tools that write', () => {
    const allow = allCommands.find(({ name }) => name === 'mcp')?.flags.find(({ name }) => name === 'allow');
    const wanted = mcpTools.filter(({ operation }) => !changesNothing(operation)).map(({ name }) => name);
    expect(allow?.offers).toEqual(wanted.sort());
    expect(mcpTools.map(({ operation }) => operation)).toEqual(expect.arrayContaining([...allOperations]));
  });

  it('of all requests are those of the settings', () => {
    const wanted = settings.filter((one: Setting) => one.flag === 'requests').map(settingFlagName);
    const chat = allCommands.find(({ name }) => name === 'chat');
    expect(chat?.flags.map(({ name }) => name)).toEqual(expect.arrayContaining(wanted));
  });

  it('list --verbose exactly for the commands that send requests', () => {
    const sending = ['call run', 'call import', 'call flush', 'auth login', 'doctor', 'mcp'];
    const listed = allCommands.filter(({ flags }) =>
      flags.some(({ name, isHidden }) => name === 'verbose' && !isHidden),
    );
    expect(new Set(listed.map(({ name }) => name))).toEqual(
      new Set([...allOperations.map(({ command }) => command.join(' ')), ...sending]),
    );
  });
});

describe('a field that is given as a flag is what the flag says', () => {
  const fields = allOperations.flatMap((operation) =>
    Object.entries(flagTarget(operation).fields)
      .filter(([, field]) => !field.isReadOnly && !field.isSecret)
      .map(([name, field]) => ({ operation, name, field, command: operation.command.join(' ') })),
  );

  it.each(fields)('svc $command: $name', async ({ operation, name, field }) => {
    const { path } = flagTarget(operation);
    const { code, stdout, stderr } = await svc(
      [...operation.command, ...wordsOf(name, field), '--exact', '--no-check', '--dry-run'],
      { stdin: '' },
    );
    const wanted = path.reduceRight<string>(
      (inner, step) => `{"${step}":${inner}}`,
      `{"${name}":${writeJson(sampleValue(field))}}`,
    );
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: wanted });
  });

  function wordsOf(name: string, field: Field): string[] {
    const flag = `--${flagName(name)}`;
    const sample = sampleValue(field);
    if (typeof sample === 'boolean') return [sample ? flag : flag.replace('--', '--no-')];
    if (
      field.type === 'list' &&
      Array.isArray(sample) &&
      (field.of.type === 'string' || field.of.type === 'integer' || field.of.type === 'json')
    ) {
      // A list without elements cannot be given element by element.
      if (sample.length === 0) return ['--set', `${name}:=[]`];
      return sample.flatMap((item) => [flag, typeof item === 'string' ? item : writeJson(item)]);
    }
    return [flag, typeof sample === 'string' ? sample : writeJson(sample)];
  }
});

describe('help', () => {
  const pages = ['', ...Object.keys(commandGroups), ...named.map(({ name }) => name)].map((name) => ({ name }));
  const wordsOf = (name: string): string[] => (name === '' ? [] : name.split(' '));

  it.each(pages)('svc $name: -h has at most 24 lines of at most 80 columns', ({ name }) => {
    const lines = helpText({ words: wordsOf(name), isFull: false }, 100, '/guides')
      .trimEnd()
      .split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(24);
    expect(lines.join('\n')).toMatch(/Usage:\n {2}svc/);
  });

  it.each(named)('svc $name: -h lists every flag that its examples use', ({ name, command }) => {
    const text = helpText({ words: wordsOf(name), isFull: false }, 80, '/guides');
    const [, examples = ''] = /Examples:\n(.*?)\n\n/s.exec(text) ?? [];
    const words = examples.replace(/^ *#.*$/gm, '').split(/[\s=]+/);
    for (const flag of command.flags.filter((one) =>
      words.some((word) => flagForms(one).includes(word) || word === `-${one.short}`),
    ))
      expect(text).toContain(`  ${flagTerm(flag)}`);
  });

  it.each(pages.flatMap(({ name }) => [40, 57, 80, 100].map((columns) => ({ name, columns }))))(
    'svc $name: -h and --help fit into $columns columns, and no word is cut',
    ({ name, columns }) => {
      const text = helpText({ words: wordsOf(name), isFull: true }, columns, '/guides');
      const short = helpText({ words: wordsOf(name), isFull: false }, columns, '/guides');
      expect([...text.split('\n'), ...short.split('\n')].filter((line) => line.length > columns)).toEqual([]);
      const wanted = helpText({ words: wordsOf(name), isFull: true }, 1000, '/guides');
      // Comments are beside or above their commands.
      // The long page of chat leaves out the end of a summary that does not fit.
      if (name !== 'chat') expect(plainWords(text).sort()).toEqual(plainWords(wanted).sort());
    },
  );

  const topics = new Map([
    ['Body', 'bodies'],
    ['Batch', 'batch'],
    ['Output', 'output'],
    ['Connection', 'connection'],
  ]);

  it.each(named)(
    'svc $name: --help lists its own flags once, and names the topic of each shared flag',
    async ({ name, command }) => {
      const text = helpText({ words: wordsOf(name), isFull: true }, 80, '/guides');
      const [own = '', shared = ''] = text.split('Shared flags:\n');
      const lines = own.split('\n');
      for (const flag of command.flags) {
        const listed = lines.filter(
          (line) => line === `  ${flagTerm(flag)}` || line.startsWith(`  ${flagTerm(flag)}  `),
        );
        const topic = topics.get(flag.group);
        expect(listed, flag.name).toHaveLength(flag.isHidden || topic ? 0 : 1);
        if (flag.isHidden || !topic) continue;
        const [, names = ''] = new RegExp(`  svc help ${topic} +(-(?:.|\n {4,})*)`).exec(shared) ?? [];
        const words = names.split(/\s+/);
        const long = flag.takes === 'boolean' ? `--[no-]${flag.name}` : flagForms(flag)[0];
        expect(words).toContain(long);
        if (flag.short) expect(words).toContain(`-${flag.short}`);
        expect((await svc(['help', topic])).stdout).toContain(`\n  ${flagTerm(flag)}  `);
      }
      const groups = [...text.matchAll(/^(\w.*):$/gm)].map(([, heading]) => heading);
      const first = groups.indexOf('Required, as a flag or in the body');
      if (first !== -1 && groups.includes('Common')) expect(groups.indexOf('Common')).toBe(first + 1);
      expect(groups.indexOf('Examples')).toBe(1);
    },
  );

  it.each(named)('svc $name: --help has at most 52 lines and one for each of its own flags', ({ name, command }) => {
    const text = helpText({ words: wordsOf(name), isFull: true }, 80, '/usr/local/lib/node_modules/svc-cli/docs');
    const own = command.flags.filter(({ isHidden, group }) => !isHidden && !topics.has(group));
    const lines = text.trimEnd().split('\n').length - own.length;
    expect(lines, 'shorten the summaries of flags that take two lines').toBeLessThanOrEqual(52);
  });

  it('-h of chat lists what people use', () => {
    const text = helpText({ words: ['chat'], isFull: false }, 80, '/guides');
    const [, flags = ''] = text.split('Flags:\n');
    expect([...flags.matchAll(/^ {2}(-\S+)/gm)].map(([, form]) => form)).toEqual([
      ...['-m,', '-s,', '-f,', '--json', '-o,', '--attach', '--json-schema', '--conversation', '--local', '-n,'],
    ]);
  });

  it('a required value names its other sources', () => {
    const text = helpText({ words: ['feedback', 'schema'], isFull: true }, 100, '/guides');
    expect(text.replace(/\s+/g, ' ')).toContain('or an age such as 7d; or --since');
    expect(helpText({ words: ['train'], isFull: true }, 80, '/guides')).toContain('The groups to train on; or files');
  });

  it('svc call run shows the -- before its command, in help and in the reference', () => {
    const usage = 'svc call run [flags] -- <command> [args...]';
    expect(helpText({ words: ['call', 'run'], isFull: false }, 80, '/guides')).toContain(`  ${usage}\n`);
    expect(readFileSync('docs/reference/svc-call-run.md', 'utf8')).toContain(`    ${usage}\n`);
  });

  it.each(Object.keys(helpTopics))('svc help %s fits into 40 and 80 columns', async (topic) => {
    for (const columns of [40, 80]) {
      const { code, stdout } = await svc(['help', topic], { env: { COLUMNS: String(columns) } });
      expect(code).toBe(0);
      expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
    }
  });

  it('a shell reads the examples alike at every width', () => {
    const examplesAt = (columns: number): string =>
      named
        .map(({ name }) => helpText({ words: wordsOf(name), isFull: true }, columns, '/guides'))
        .map((text) => text.slice(text.indexOf('Examples:\n') + 10).split(/\n\n/)[0])
        .join('\n');
    const readByShell = (script: string): string[] => {
      // Line breaks in quoted JSON mean nothing.
      const svcFunction = `svc() { { [ ! -p /dev/stdin ] || cat; echo "$@"; } | tr -d ' \\n'; echo; }`;
      const { stdout, stderr } = spawnSync('bash', ['-c', `${svcFunction}\n${script}`], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(stderr).toBe('');
      return stdout.split('\n');
    };
    const wanted = readByShell(examplesAt(1000));
    expect(wanted.length).toBeGreaterThan(named.length);
    expect(readByShell(examplesAt(40))).toEqual(wanted);
  });

  it('lists every command once, the operations first', () => {
    const text = helpText({ words: [], isFull: true }, 80, '/guides');
    const listed = text
      .split('\n\n')
      .map((section) => section.split('\n').map((line) => /^ {2}(\S+(?: \S+)*) {2}/.exec(line)?.[1] ?? line));
    const sectionOf = (heading: string): string[] => listed.find(([first]) => first === heading)?.slice(1) ?? [];
    expect(sectionOf('Operations:')).toEqual(['feedback replace', 'feedback schema', 'chat', 'train', 'call start']);
    const names = ['Operations:', 'Credentials and profiles:', 'Tools:'].flatMap(sectionOf);
    expect(names.sort()).toEqual(named.map(({ name }) => name).sort());
  });

  it('names every exit code of the contract, what it means and whether to run again', async () => {
    const { stdout } = await svc(['help', 'exit-codes']);
    const [, table = ''] = stdout.split('Exit codes:\n');
    const entries = (table.split('\n\n')[0] ?? '').split(/\n(?= {2}\d)/).map((entry) => entry.replace(/\s+/g, ' '));
    const shown = entries.map((entry) => {
      const [, code = '', meaning = '', again = ''] = /^ *(\d+) (.*?)\.(?: Run again: (.*)\.)?$/s.exec(entry) ?? [];
      return { code: Number(code), again, meaning };
    });
    expect(shown).toEqual(
      contract.map(([code, again, ...words]) => ({
        code,
        again,
        meaning: expect.stringMatching(new RegExp(words.map((word) => `(?=.*${word})`).join(''), 'i')),
      })),
    );
  });

  it.each([
    [['call', 'run'], ['svc call run']],
    [['call'], ['svc call start', 'svc call run', 'svc call import', 'svc call flush']],
    [[], named.map(({ name }) => `svc ${name}`)],
  ])('as JSON of %j has its commands', async (words, commands) => {
    const { code, stdout } = await svc(['help', ...words, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).commands.map(({ command }: { command: string }) => command)).toEqual(commands);
  });

  it.each([
    ['nope --json', 'no help on "nope"'],
    ['cal', 'did you mean: svc help call\n'],
    ['call strt', 'did you mean: svc help call start\n'],
    ['call xyz', 'did you mean: svc help call start, call run, call import or call flush\n'],
    ['chat xyz', 'did you mean: svc help chat\n'],
    ['feedback foo', 'did you mean: svc help feedback replace or feedback schema\n'],
    ['profile foo', 'did you mean: svc help profile list, profile show, profile set, profile use or profile remove\n'],
    ['nope --jq .', 'no help on "nope"'],
    ['exit-codes --json', 'the topic exit-codes is not available as JSON'],
    ['nope --skill', '--skill covers all commands and takes no topic'],
  ])('of %s is exit code 2', async (words, message) => {
    expect(await svc(['help', ...words.split(' ')])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });

  it('as JSON says where a value may be left out, and when to run again', async () => {
    const { stdout } = await svc(['help', '--json']);
    const { commands, exit_codes: exitCodes } = JSON.parse(stdout);
    const optional = commands.flatMap(({ command, flags }: { command: string; flags: { [key: string]: unknown }[] }) =>
      flags.filter((flag) => flag.value_optional).map(({ flag }) => `${command} ${flag}`),
    );
    expect(optional.sort()).toEqual(
      named
        .flatMap(({ name, command }) =>
          command.listedFlags.filter(({ takes }) => takes === 'optional').map((flag) => `svc ${name} --${flag.name}`),
        )
        .sort(),
    );
    expect(optional).toContain('svc call run --spool');
    expect(exitCodes).toContainEqual(expect.objectContaining({ code: 13, run_again: 'after reviewing the cause' }));
  });

  it('names every variable of the contract', async () => {
    const { stdout } = await svc(['help', 'environment']);
    for (const variable of [...variables, 'SVC_UPSTREAM_TOKEN', 'COLUMNS', 'PAGER']) expect(stdout).toContain(variable);
  });

  it('names every variable that the source reads, those of schedulers, CI jobs and Windows aside', async () => {
    const { stdout } = await svc(['help', 'environment']);
    const read = sourceFiles.flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/\benv\.([A-Z]\w+)/g)].map(([, variable = '']) => variable),
    );
    const own = read.filter(
      (variable) => !/^(SLURM_|OMPI_|PMI_|GITHUB_(?!ACTIONS)|(LOCAL)?APPDATA$|HOME$)/.test(variable),
    );
    expect(own).toContain('TRACEPARENT');
    const unknown = own.filter((variable) => !new RegExp(`^  ${variable} `, 'm').test(stdout));
    expect(
      unknown.map(
        (variable) => `the source reads ${variable}: add a line with it to src/config/settings.ts, which help lists`,
      ),
    ).toEqual([]);
  });

  it('that a flag or a profile can also set are read by the table of settings only', () => {
    const variables = settings.flatMap(({ name, variable, flag, isStored }: Setting) =>
      variable && (variable.startsWith('SVC_') || flag || isStored) ? [{ name, variable }] : [],
    );
    const problems = sourceFiles.flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      const read = variables.filter(({ variable }) =>
        new RegExp(
          `\\benv\\??\\.(?:${variable}\\b|\\['${variable}')|\\benv\\['${variable}'|\\{[^{}]*\\b${variable}\\b[^{}]*\\} = [\\w.]*env\\b`,
        ).test(text),
      );
      return read.map(
        ({ name, variable }) =>
          `${path.slice(source.length + 1)} reads ${variable} itself: call environmentSetting('${name}', env), or resolveSetting('${name}', sources) where a flag or the profile counts too, both of src/config/`,
      );
    });
    expect(variables.length).toBeGreaterThan(15);
    expect(problems).toEqual([]);
  });
});

function plainWords(text: string): string[] {
  // JSON of examples is broken between its tokens.
  const words = text.split(/\s+/).filter((word) => word !== '\\' && word !== '#');
  return words
    .join(' ')
    .replace(/(?<=[{,]) (?=["{])/g, '')
    .split(' ');
}

describe('the reference', () => {
  const reference = (page: string): string =>
    readFileSync(new URL(`../../docs/reference/${page}.md`, import.meta.url), 'utf8');

  it.each(named)('names every flag of svc $name in its form, once or as a shared flag', ({ command }) => {
    const text = reference('README') + reference(`svc-${command.words.join('-')}`);
    for (const flag of command.flags.filter(({ isHidden }) => !isHidden)) {
      expect(text).toContain(`| \`${flagTerm(flag).replaceAll('|', '\\|')}\` |`);
      if (flag.takes === 'boolean') expect(flagTerm(flag)).not.toContain('<');
    }
  });

  it('describes each shared flag once, and in the table of a command what is different there', () => {
    const shared =
      reference('README')
        .split('\n## ')
        .find((section) => section.startsWith('Shared flags')) ?? '';
    const names = [...shared.matchAll(/^\| `(?:-\w, )?(--[\w-]+)/gm)].map(([, name]) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names).toContain('--format');
    expect(reference('svc-feedback-schema')).toContain('| `--format <format>` |');
  });
});

describe('help for programs', () => {
  it('--json has every command with every flag, and every exit code', async () => {
    const { code, stdout } = await svc(['help', '--json']);
    expect(code).toBe(0);
    const { commands, exit_codes, schema_version } = JSON.parse(stdout);
    expect(schema_version).toBe(1);
    expect(commands.map(({ command }: { command: string }) => command)).toEqual(named.map(({ name }) => `svc ${name}`));
    expect(exit_codes.map(({ code: exit }: { code: number }) => exit)).toEqual(contract.map(([exit]) => exit));
    const child = commands.find(({ command }: { command: string }) => command === 'svc call run');
    expect(child.exit_codes.map(({ code: exit }: { code: number }) => exit)).toEqual([126, 127]);
    const chat = commands.find(({ command }: { command: string }) => command === 'svc chat');
    expect(chat.flags).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ flag: '--seed', type: 'integer' }),
        expect.objectContaining({ flag: '--echo', negation: '--no-echo', type: 'boolean', default: 'false' }),
        expect.objectContaining({ flag: '--stop', repeatable: true }),
        expect.objectContaining({ flag: '--model', short: '-m' }),
        expect.objectContaining({ flag: '--concurrency', default: 'auto' }),
      ]),
    );
  });

  it('--skill prints a skill file that names every command', async () => {
    // The built program prints the file of the package.
    const { code, stdout } = await run(['help', '--skill']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^---\nname: svc\ndescription: .+\n---\n/);
    for (const { name } of named) expect(stdout).toContain(`svc ${name}`);
    // The examples give the same fields in other ways, such as --since for --start.
    expect(stdout).toContain(
      'Required fields, from flags, a file or stdin: `--project-id <entity/project>` or SVC_PROJECT_ID or the profile, `--start <time>` or --since.\n',
    );
  });
});

const secret = 'S3CRET';

describe('the command line', () => {
  it.each([
    { line: '--profile local chat hi', same: 'chat hi --profile local' },
    {
      line: '-q --base-url=http://127.0.0.1 call start --op-name x',
      same: 'call start -q --base-url=http://127.0.0.1 --op-name x',
    },
    { line: 'auth --profile p status', same: 'auth status --profile p' },
    { line: '--error-format json train log', same: 'train log --error-format json' },
    { line: 'chat --retries 1 --retries 2 hi', same: 'chat hi --retries 2' },
  ])('shared flags may come before the command: svc $line', async ({ line, same }) => {
    const read = async (text: string) => {
      const line = await lineOf(text.split(' '));
      return { command: line?.command, args: line?.args, options: line?.readOptions() };
    };
    expect(await read(line)).toEqual(await read(same));
  });

  it.each([
    ['--model x chat hi', '--model is a flag of svc chat and belongs after it', 'write: svc chat --model x hi'],
    ['--no-echo chat hi', '--no-echo is a flag of svc chat and belongs after it', 'write: svc chat --no-echo hi'],
    [
      '-q -f a.json call start',
      '-f is a flag of svc call start and belongs after it',
      'write: svc call start -q -f a.json',
    ],
    [
      '--op-name build call run --project-id a/b -- echo hi',
      '--op-name is a flag of svc call run and belongs after it',
      'write: svc call run --op-name build --project-id a/b -- echo hi',
    ],
    ['-m x -s y chat hi', '-m is a flag of svc chat and belongs after it', 'write: svc chat -m x -s y hi'],
    ['--seed 1 --json chat hi', '--seed is a flag of svc chat and belongs after it', 'svc chat --seed 1 --json hi'],
    [
      'feedback --since 7d schema',
      '--since is a flag of svc feedback schema and belongs after it',
      'write: svc feedback schema --since 7d',
    ],
    [
      'call --op-name x start',
      '--op-name is a flag of svc call start and belongs after it',
      'write: svc call start --op-name x',
    ],
    ['--nothing chat hi', 'unknown flag "--nothing"', 'run: svc --help'],
    ['chat --nothing=secret', 'unknown flag "--nothing" for svc chat', 'run: svc chat --help'],
    ['chat --modle x', 'unknown flag "--modle" for svc chat', 'did you mean --model?'],
    ['chta hi', 'unknown command "chta"', 'did you mean: svc chat'],
    ['feedback shema', 'unknown command "feedback shema"', 'did you mean: svc feedback schema'],
    ['profile list x', 'svc profile list does not take the argument "x"', 'write: svc profile list'],
    [
      'call start extra --op-name o -q more --project-id a/b',
      'svc call start does not take the argument "extra"',
      'write: svc call start --op-name o -q --project-id a/b',
    ],
    ['call start a.json', 'svc call start does not take the argument "a.json"', 'write: svc call start -f a.json'],
    [
      'feedback replace -q a.yaml b.yaml --set x=1',
      'svc feedback replace does not take the argument "a.yaml"',
      'write: svc feedback replace -q -f a.yaml --set x=1',
    ],
    [
      'call start -f a.json b.json',
      'svc call start does not take the argument "b.json"',
      'write: svc call start -f a.json',
    ],
    ['completion bash zsh -q', 'svc completion does not take the argument "zsh"', 'write: svc completion bash -q'],
    [
      'completion -q -- bash zsh',
      'svc completion does not take the argument "zsh"',
      'write: svc completion -q -- bash',
    ],
    ['log -q -- x', 'svc log does not take the argument "x"', 'write: svc log -q'],
    ['profile use', 'svc profile use needs <name>', 'write: svc profile use <name>'],
    ['chat hi --model', '--model needs a value', 'write: --model <text>'],
    [
      'chat --model --seed 1',
      '--model needs a value, but --seed is a flag',
      'if it is the value, write --model=--seed',
    ],
    ['chat --token abc', '--token is not accepted: other users can see the arguments of a process', 'svc auth login'],
    ['feedback schema --since 1h --start 2026-01-01', '--since cannot be combined with --start', 'remove one of them'],
    ['feedback replace --keep-id --id x', '--keep-id cannot be combined with --id', 'remove one of them'],
    ['chat hi --strict --no-check', '--strict cannot be combined with --no-check', 'remove one of them'],
    [
      'chat hi --prefill x --add-generation-prompt',
      '--prefill cannot be combined with --add-generation-prompt',
      'remove one of them',
    ],
    [
      'chat hi --prefill x --no-continue-final-message',
      '--prefill cannot be combined with --no-continue-final-message',
      'remove',
    ],
    ['chat hi --local --expect-schema @', '--expect-schema @ has no file name', 'write --expect-schema @file'],
    ['train lint ', 'an argument of svc train lint is empty', 'name a file'],
    ['batch merge a ', 'an argument of svc batch merge is empty', 'name a file'],
    ['batch report ', 'an argument of svc batch report is empty', 'name a file'],
    ['feedback --bad', 'svc feedback needs a command: replace or schema', 'run: svc feedback --help'],
    ['feedback -q', 'svc feedback needs a command: replace or schema', 'run: svc feedback --help'],
    ['call --project-id a/b', 'svc call needs a command: start, run, import or flush', 'run: svc call --help'],
    ['jbos --limit 3', 'unknown command "jbos"', 'run: svc --help'],
    ['feedback --profile', '--profile needs a value', 'write: --profile <name>'],
    ['--curl profile list', 'unknown flag "--curl" for svc profile list', 'run: svc profile list --help'],
    ['-h nope', 'unknown command "nope"', 'run: svc --help'],
    ['chat -hq', 'unknown flag "-hq" for svc chat', 'run: svc chat --help'],
    ['chat hi --no-auth', 'unknown flag "--no-auth" for svc chat', 'leave it out: there is no --auth to turn off'],
    ['serve --no-auth --credentials x', '--credentials cannot be combined with --no-auth', 'remove one of them'],
    ['chat hi --color blue', '--color cannot be "blue"', 'use auto, always or never'],
    ['completion csh', 'shell cannot be "csh"', 'use bash, zsh or fish'],
    ['call run --spool=x -- true', '--spool cannot be "x"', 'use --spool or --spool=only'],
  ])('svc %s is exit 2', async (line, message, hint) => {
    const { code, stderr, stdout } = await svc(line.split(' '));
    expect({ code, stdout, message: stderr.split('\n')[0] }).toEqual({
      code: 2,
      stdout: '',
      message: `svc: ${message}`,
    });
    expect(stderr).toContain(hint);
  });

  it.each([
    ['the value of --token', ['--token', secret]],
    ['the value of a flag that is unknown', ['--tokn', secret]],
    ['the value of --cache-salt', ['--cache-salt', secret]],
    ['the value of --cache-salt=', [`--cache-salt=${secret}`]],
    ['a header', ['-H', `X-Api-Key: ${secret}`]],
    ['a header in the same word', [`-qHX-Api-Key:${secret}`]],
    ['a header without a colon', [`--header=${secret}`]],
    ['cache_salt of --set', ['--set', `cache_salt=${secret}`]],
    ['cache_salt of --set=', [`--set=cache_salt:="${secret}"`]],
    ['the user of a URL', ['--base-url', `https://me:${secret}@example.com`]],
  ])('the corrected line does not repeat %s', async (_, words) => {
    for (const line of [
      ['--seed', '1', 'chat', ...words, 'hi'],
      [...words, '--seed', '1', 'chat', 'hi'],
      ['--seed', '1', 'chat', ...words, 'hi', '--error-format', 'json'],
    ]) {
      const { code, stderr, stdout } = await svc(line);
      expect({ code, output: stdout + stderr }).toEqual({ code: 2, output: expect.not.stringContaining(secret) });
    }
  });

  it.each([
    ['grep -v foo f', 'svc call run takes its command only after --', 'svc call run -- grep -v foo f'],
    ['make --retries 3 -h', 'svc call run takes its command only after --', 'svc call run -- make --retries 3 -h'],
    [
      '-q --op-name x npm test -- -u',
      'takes its command only after --',
      'svc call run -q --op-name x -- npm test -- -u',
    ],
    ['--spool make', 'takes its command only after --', 'svc call run --spool -- make'],
    ['--exit-feedback build -- make', '--exit-feedback takes a value only after =', '--exit-feedback=build -- make'],
    ['-q --spool only -- make', '--spool takes a value only after =', 'svc call run -q --spool=only -- make'],
  ])('svc call run %s is exit 2, with the corrected line', async (line, message, corrected) => {
    const { code, stderr } = await svc(['call', 'run', ...line.split(' ')]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^svc: .*\n {2}write: .*\n$/)]);
    expect(stderr).toContain(message);
    expect(stderr).toContain(`${corrected}\n`);
  });

  it('the corrected line redacts the command of another program, too', async () => {
    const line = ['--op-name', 'x', 'call', 'run', '--', 'curl', '--token', secret, 'a b'];
    const { stderr } = await svc(line);
    expect(stderr).toContain("write: svc call run --op-name x -- curl --token '[redacted]' 'a b'");
  });

  it.each([`cache_salt:${secret}`, `cache_salt..${secret}=x`, `cache_salt=${secret}`])(
    '--set %j is refused without its value',
    async (word) => {
      const { code, stderr } = await svc(['chat', 'hi', '--local', '--set', word]);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining('svc: --set cache_salt: a secret cannot be an argument\n'),
      });
      expect(stderr).not.toContain(secret);
    },
  );

  it.each(['', 'feedback', 'chat', 'train log'])(
    'svc %s: -h and --help print help, before the command too',
    async (name) => {
      const words = name === '' ? [] : name.split(' ');
      const short = await svc([...words, '-h']);
      const full = await svc([...words, '--help']);
      expect({ code: short.code, full: full.code }).toEqual({ code: 0, full: 0 });
      if (!(name in commandGroups)) expect(short.stdout).not.toBe(full.stdout);
      expect(await svc(['--help', ...words])).toEqual(full);
      if (name !== '') expect(await svc(['help', ...words])).toEqual(full);
    },
  );
});
