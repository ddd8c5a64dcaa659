import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { exampleLine } from '../../src/cli/docs/help-text.ts';
import { commandHelpText, parseCommandLine } from '../../src/cli/parse-command-line.ts';
import { reportFlags } from '../../src/cli/shared-flags.ts';
import { type Field, flagName } from '../../src/fields/field.ts';
import { sampleValue } from '../../src/fields/sample.ts';
import { writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { flagTarget } from '../../src/operations/flag-target.ts';
import { folder, svc } from '../support/svc.ts';
import { shellWords } from '../support/words.ts';

// Typed from PRODUCT.md section 6: the code, whether to run again, and words that its meaning has.
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
  [10, 'yes, with --resume', 'lines of a batch failed'],
  [11, 'no', 'invalid response', 'stream was cut', 'applied'],
  [12, 'after fixing the input', 'file', 'pipe', 'disk'],
  [13, 'no', 'safety check', 'duplicate job', 'insecure transport', 'expectation'],
  [129, 'as 8 if the request was sent', 'SIGHUP'],
  [130, 'as 8 if the request was sent', 'interrupted'],
  [143, 'as 8 if the request was sent', 'terminated'],
];

// Typed from PRODUCT.md section 4; the token of an upstream server is our own.
const variables = [
  ...['SVC_PROFILE', 'SVC_BASE_URL', 'SVC_TRACE_BASE_URL', 'SVC_CHAT_BASE_URL', 'SVC_TRAIN_BASE_URL'],
  ...['SVC_USERNAME', 'SVC_PASSWORD', 'SVC_TOKEN', 'SVC_PROJECT_ID', 'SVC_MODEL', 'SVC_TIMEOUT', 'SVC_RETRIES'],
  ...['SVC_ERROR_FORMAT', 'SVC_SHARD', 'SVC_HISTORY', 'SVC_NO_PROJECT_FILE', 'SVC_CONFIG_DIR', 'SVC_DATA_DIR'],
  ...['CLICOLOR', 'CLICOLOR_FORCE', 'COLUMNS', 'TERM', 'CI'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'NO_COLOR', 'FORCE_COLOR'],
];

const demo = new URL('../demo', import.meta.url).pathname;
const named = allCommands.map((command) => ({ command, name: command.words.join(' ') }));

describe('every example', () => {
  const examples = allCommands.flatMap((command) =>
    command.examples.map((example) => ({ command, example, line: exampleLine(example) })),
  );

  it.each(examples)('is a command line: $line', ({ command, example }) => {
    const parsed = parseCommandLine(shellWords(example.args), 80);
    expect('invocation' in parsed && parsed.invocation.command.words).toEqual(command.words);
  });

  const bodies = examples.filter(({ command }) =>
    allOperations.some((operation) => operation.command === command.words),
  );

  it.each(bodies)('has a body that passes: $line', async ({ example }) => {
    const home = folder();
    const env = { SVC_CONFIG_DIR: home, SVC_DATA_DIR: home };
    const { code, stderr } = await svc([...shellWords(example.args), '--dry-run', '--strict'], {
      cwd: demo,
      env,
      stdin: example.stdin ?? '',
    });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(existsSync(join(demo, 'config'))).toBe(false);
  });
});

describe('the flags of a command', () => {
  it.each(named)('svc $name: names, also of the negative forms, and letters are unique', ({ command }) => {
    const names = command.flags.flatMap(({ name, takes }) =>
      takes === 'boolean' ? [name, `no-${name}`] : takes === 'off' ? [`no-${name}`] : [name],
    );
    const letters = command.flags.flatMap(({ short }) => (short ? [short] : []));
    expect(names).toEqual([...new Set(names)]);
    expect(letters).toEqual([...new Set(letters)]);
    expect([...names, 'help'].every((name) => /^[a-z][a-z0-9-]*$/.test(name))).toBe(true);
  });

  it('use only the letters of the contract', () => {
    const letters = new Map(
      allCommands.flatMap(({ flags }) => flags.flatMap(({ name, short }) => (short ? [[short, name] as const] : []))),
    );
    expect(Object.fromEntries(letters)).toEqual({
      f: 'file',
      o: 'output',
      m: 'model',
      s: 'system',
      H: 'header',
      v: 'verbose',
      q: 'quiet',
    });
  });

  it.each(named)('svc $name takes those about reporting', ({ command }) => {
    expect(command.flags).toEqual(expect.arrayContaining([...reportFlags]));
  });
});

describe('a field that is given as a flag is what the flag says', () => {
  const fields = allOperations.flatMap((operation) =>
    Object.entries(flagTarget(operation).fields)
      .filter(([, field]) => !field.filledByService && !field.secret)
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
  it.each([...named, { name: '', command: undefined }, { name: 'feedback', command: undefined }])(
    'svc $name --help fits into 80 columns',
    ({ name }) => {
      const text = commandHelpText(name === '' ? [] : name.split(' '), 80);
      expect(text).toContain('Usage: svc');
      const wide = text.split('\n').filter((line) => line.length > 80 && !/^ {2}(svc|printf) /.test(line));
      expect(wide).toEqual([]);
    },
  );

  it('lists every command once, the operations first', () => {
    const [, ...sections] = commandHelpText([], 80).split(/^(?=[A-Z].*:$)/m);
    const listed = sections.slice(0, 3).map((section) =>
      section
        .trim()
        .split('\n')
        .map((line) => /^ {2}(\S+(?: \S+)*) {2}/.exec(line)?.[1] ?? line),
    );
    expect(listed[0]).toEqual(['Operations:', 'feedback replace', 'feedback schema', 'chat', 'train', 'call start']);
    expect(listed[1]?.slice(0, 3)).toEqual(['Credentials and profiles:', 'auth login', 'auth logout']);
    expect(listed.flatMap(([, ...names]) => names).sort()).toEqual(named.map(({ name }) => name).sort());
  });

  it('names every exit code of the contract, what it means and whether to run again', async () => {
    const { stdout } = await svc(['help', 'exit-codes']);
    const entries = stdout.trimEnd().split(/\n(?= {0,3}\d)/);
    const shown = entries.map((entry) => {
      const [, code = '', meaning = '', again = ''] = /^ *(\d+) {2}(.*?)(?:\n {6}run again: (.*))?$/s.exec(entry) ?? [];
      return { code: Number(code), again, meaning };
    });
    expect(shown).toEqual(
      contract.map(([code, again, ...words]) => ({
        code,
        again,
        meaning: expect.stringMatching(new RegExp(words.map((word) => `(?=.*${word})`).join(''))),
      })),
    );
  });

  it('names every variable of the contract', async () => {
    const { stdout } = await svc(['help', 'environment']);
    const shown = stdout.split('\n').flatMap((line) => (line.split('  ')[0] ?? '').split(', ').filter(Boolean));
    expect(shown.sort()).toEqual([...variables, 'SVC_UPSTREAM_TOKEN'].sort());
  });
});
