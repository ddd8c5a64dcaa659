import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { otherTools } from '../../src/cli/other-tools.ts';
import { minimalBody } from '../../src/fields/field.ts';
import { writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { runBuilt } from '../support/built.ts';
import { inShell } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

// The sample of a group is longer than what a message repeats.
const short = { trajectory_groups: [] };

const bodies = allOperations.map((operation) => ({
  command: operation.command,
  body: writeJson({
    ...minimalBody(operation.body),
    ...('trajectory_groups' in operation.body ? short : {}),
    note: "it's",
  }),
}));
const dataFlags = otherTools['--file']?.split(', ').slice(0, 7) ?? [];
const check = ['--local', '--dry-run', '--exact'];

describe.each(bodies)('the body of svc $command as an argument', ({ command, body }) => {
  const forms: string[][] = [
    ...dataFlags.map((flag) => [flag, body]),
    ...dataFlags.map((flag) => [flag.startsWith('--') ? `${flag}=${body}` : `${flag}${body}`]),
    ['-X', 'POST', '-H', 'Content-Type: application/json', '-d', body],
    ['curl', '-X', 'POST', 'https://api.example.com/v1', '-d', body],
    ['-f', body],
    ['--json', body],
    [`--json=${body}`],
    ...(command[0] === 'train' ? [] : [[body]]),
  ];

  it('is sent by the printed next step', async () => {
    for (const form of forms) {
      const { code, stderr } = await runBuilt([...command, ...check, ...form]);
      const [, step = ''] = /^ {2}write: (.*?)(?:; to send it as text: .*)?$/m.exec(stderr) ?? [];
      expect([code, step.includes('| svc')], `${form}\n${stderr}`).toEqual([2, true]);
      const sent = await inShell(step.replace(' --json', ''));
      expect([sent.code, sent.stdout], step).toEqual([0, body]);
    }
  }, 120_000);
});

it('a file after such a flag is named with -f', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'my body.json'), bodies[0]?.body ?? '');
  for (const flag of dataFlags) {
    const { stderr } = await runBuilt(['feedback', 'replace', ...check, flag, '@my body.json'], { cwd });
    expect(stderr).toContain(`write: svc feedback replace --local --dry-run --exact -f 'my body.json'`);
  }
});

it('objects that are the value of a flag, a prompt or an argument of a child are none', async () => {
  const misspelled = await runBuilt(['chat', 'hi', '--reponse-format', '{"type":"text"}']);
  expect(misspelled.stderr).toContain('did you mean --response-format?');
  const format = await runBuilt(['chat', 'hi', '--response-format', '{"type":"text"}', ...check]);
  expect([format.code, (await runBuilt(['chat', '{"a":1}', ...check])).code]).toEqual([0, 0]);
});

it.each(['-u', '--oauth2-bearer', '-a'])('a password after %s is not repeated', async (flag) => {
  for (const words of [[flag, 'ada:pass-word'], [`${flag}${flag.startsWith('--') ? '=' : ''}ada:pass-word`]])
    for (const { command } of bodies) {
      const { code, stderr } = await runBuilt([...command, ...words]);
      expect([code, stderr.includes('pass-word')], stderr).toEqual([2, false]);
    }
});

it('a field with JSON as an argument is offered as JSON', async () => {
  const { stderr } = await runBuilt(['chat', 'messages=[{"role":"user","content":"hi"}]']);
  const [, step = ''] = /write --set '([^']*)'/.exec(stderr) ?? [];
  expect((await runBuilt(['chat', ...check, '--set', step])).code, stderr).toBe(0);
});

it.each([
  [['--rows', 'a.csv', 'b.csv', 'c.csv', 'Classify: {{text}}', '-o', 'out.jsonl'], 'run the command for each file'],
  [['--attach', 'a.csv', 'b.csv', 'Compare'], 'write --attach before each: --attach b.csv'],
])('files that a shell put in place of a pattern are no prompt: %j', async (args, hint) => {
  const cwd = temporaryDirectory();
  for (const name of ['a.csv', 'b.csv', 'c.csv']) writeFileSync(join(cwd, name), 'text\nhi\n');
  const { code, stderr } = await runBuilt(['chat', ...args, '--local', '--dry-run'], { cwd });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(`"b.csv" names a file, and ${args[0]} takes one\n  ${hint}\n`),
  ]);
  const single = [...args.slice(0, 2), 'Compare b.csv {{text}}', '-o', 'out.jsonl', '--local', '--dry-run'];
  expect((await runBuilt(['chat', ...single], { cwd })).code).toBe(0);
});
