import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { exampleLine } from '../../src/cli/help.ts';
import { helpText, parseCommandLine } from '../../src/cli/program.ts';
import { reportFlags } from '../../src/cli/shared-flags.ts';
import { environment, topics } from '../../src/cli/topics.ts';
import { exitCodes } from '../../src/errors.ts';
import { type Field, flagName } from '../../src/fields/field.ts';
import { sampleOf } from '../../src/fields/sample.ts';
import { writeJson } from '../../src/json/write.ts';
import { operations } from '../../src/operations/index.ts';
import { targetOf } from '../../src/operations/target.ts';
import { folder, svc } from '../support/svc.ts';
import { shellWords } from '../support/words.ts';

const demo = new URL('../demo', import.meta.url).pathname;
const named = commands.map((command) => ({ command, name: command.words.join(' ') }));

describe('every example', () => {
  const examples = commands.flatMap((command) =>
    command.examples.map((example) => ({ command, example, line: exampleLine(example) })),
  );

  it.each(examples)('is a command line: $line', ({ command, example }) => {
    const parsed = parseCommandLine(shellWords(example.args), 80);
    expect('run' in parsed && parsed.run.command.words).toEqual(command.words);
  });

  const bodies = examples.filter(({ command }) => operations.some((operation) => operation.command === command.words));

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
      commands.flatMap(({ flags }) => flags.flatMap(({ name, short }) => (short ? [[short, name] as const] : []))),
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
  const fields = operations.flatMap((operation) =>
    Object.entries(targetOf(operation).fields)
      .filter(([, field]) => !field.filledByService && !field.secret)
      .map(([name, field]) => ({ operation, name, field, command: operation.command.join(' ') })),
  );

  it.each(fields)('svc $command: $name', async ({ operation, name, field }) => {
    const { path } = targetOf(operation);
    const { code, stdout, stderr } = await svc(
      [...operation.command, ...wordsOf(name, field), '--exact', '--no-check', '--dry-run'],
      { stdin: '' },
    );
    const wanted = path.reduceRight<string>(
      (inner, step) => `{"${step}":${inner}}`,
      `{"${name}":${writeJson(sampleOf(field))}}`,
    );
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: wanted });
  });

  function wordsOf(name: string, field: Field): string[] {
    const flag = `--${flagName(name)}`;
    const sample = sampleOf(field);
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
      const text = helpText(name === '' ? [] : name.split(' '), 80);
      expect(text).toContain('Usage: svc');
      const wide = text.split('\n').filter((line) => line.length > 80 && !/^ {2}(svc|printf) /.test(line));
      expect(wide).toEqual([]);
    },
  );

  it('names every exit code and every variable of the environment', () => {
    const codes = topics['exit-codes']?.() ?? '';
    for (const { code, meaning } of Object.values(exitCodes)) expect(codes).toContain(`${code}  ${meaning}`);
    for (const [name] of environment) expect(topics.environment?.()).toContain(name);
  });
});
