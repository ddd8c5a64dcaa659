import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { compactJson } from '../../src/json/write-json.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const start = (key: string, more = ''): string =>
  `{"entry":"${key}","started_at":"2026-01-3${key}T10:00:00.000Z","digest":"${key.repeat(64)}","target":"local","files":["a.jsonl","b\\nc"],"bytes":12345678901234567890,"groups":1,"trajectories":2,"model_id":"m","pid":${process.pid}${more},"host":"elsewhere"}\n`;
const end = (key: string, applied: string, id = 'null'): string =>
  `{"entry":"${key}","ended_at":"2026-01-3${key}T10:00:01.000Z","applied":"${applied}","exit_code":0,"id":${id}}\n`;
const text = [
  start('0', ',"later":1.50'),
  start('1').replace('"local"', '"https://api.svc.test:8443/v1/preview/training-jobs"'),
  end('0', 'yes', '"0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05"'),
  end('1', 'no'),
].join('');

/** A home whose history has this text. */
function home(history: string): string {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'data'));
  writeFileSync(join(cwd, 'data', 'training-jobs.jsonl'), history);
  return cwd;
}

describe('svc train log', () => {
  it('is a table on a terminal, the newest job last', async () => {
    const { code, stdout } = await svc(['train', 'log'], { cwd: home(text), terminal: true, columns: 170 });
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['WHEN', 'ID', 'NAME', 'PARAMETERS', 'MODEL', 'DIGEST', 'SIZE', 'OUTCOME', 'SERVICE', 'FILES'],
      [
        ...['2026-01-30T10:00:00Z', '0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05', '-', '-', 'm'],
        ...['000000000000', '11228329.6 TiB'],
        ...['applied', 'local', 'a.jsonl b c'],
      ],
      [
        ...['2026-01-31T10:00:00Z', '-', '-', '-', 'm', '111111111111', '11228329.6 TiB'],
        ...['not-applied', 'api.svc.test:8443', 'a.jsonl b c'],
      ],
      [''],
    ]);
  });

  it.each([
    [80, 'WHEN ID OUTCOME'],
    [105, 'WHEN ID DIGEST OUTCOME SERVICE'],
    [145, 'WHEN ID NAME PARAMETERS DIGEST OUTCOME SERVICE FILES'],
  ])(
    'shows ids whole on a terminal of %i columns, and hides what is the same in all rows',
    async (columns, headings) => {
      const { stdout } = await svc(['train', 'log'], { cwd: home(text), terminal: true, columns });
      const lines = stdout.trimEnd().split('\n');
      expect(lines.filter((line) => line.length > columns && !line.startsWith('hidden:'))).toEqual([]);
      expect(lines[0]?.split(/ +/).join(' ')).toBe(headings);
      expect(stdout).toContain('2026-01-30T10:00:00Z  0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05  ');
    },
  );

  it.each([
    ['of one job', 1, 'ID NAME PARAMETERS OUTCOME'],
    ['that differ', 2, 'ID NAME PARAMETERS OUTCOME'],
    ['that differ, and not the names', 3, 'ID PARAMETERS OUTCOME'],
  ])('shows the parameters %s on a terminal of 80 columns', async (_, count, headings) => {
    const config = (rate: string, name: string) =>
      start(rate, `,"experimental_config":{"name":"${name}","learning_rate":${rate}e-5}`) +
      end(rate, 'yes', '"0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05"');
    const history = [config('1', 'x'), ...(count === 1 ? [] : [config('2', count === 2 ? 'y' : 'x')])].join('');
    const { stdout } = await svc(['train', 'log'], { cwd: home(history), terminal: true, columns: 80 });
    expect(stdout.split('\n')[0]?.split(/ +/).join(' ')).toBe(headings);
    expect(stdout).toContain('learning_rate=1e-5');
  });

  it('tells jobs of the same files apart by their names and the parameters that differ', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'g.json'), '[{"trajectories":[]}]');
    const send = (config: string) => {
      const flags = ['--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--experimental-config', config];
      return svc(['train', '--local', 'g.json', ...flags], { cwd, env: { SVC_TOKEN: 'secret-of-the-run' } });
    };
    const list = async () => (await svc(['train', 'log'], { cwd, terminal: true, columns: 200 })).stdout;
    const configs = [
      '{"name":"a\\nb","learning_rate":1.50,"ppo":true}',
      '{"name":"secret-of-the-run","learning_rate":2e-5,"ppo":true}',
      `{"notes":"${'x'.repeat(20_000)}"}`,
    ];
    await send(configs[0] ?? '');
    expect(await list()).toMatch(/ {2}a b {3}learning_rate=1.50 ppo=true {2}/);
    await send(configs[1] ?? '');
    expect(await list()).toMatch(/ {2}a b {2,}learning_rate=1.50 {2}.*\n.* {2}\[redacted\] {2}learning_rate=2e-5 {2}/);
    await send(configs[2] ?? '');
    await svc(['train', '--local', 'g.json', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05'], { cwd });
    const { stdout } = await svc(['train', 'log'], { cwd });
    const redacted = configs[1]?.replace('secret-of-the-run', '[redacted]');
    expect(stdout.match(/(?<="experimental_config":)(?:\{.*?\}|null)/g)).toEqual([configs[0], redacted, 'null']);
    expect(JSON.parse(stdout)[2]).not.toHaveProperty('experimental_config');
  });

  it('neither records nor previews parameters whose names are those of secrets', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'g.json'), '[{"trajectories":[]}]');
    const config = '{"learning_rate":1.50,"wandb":[{"api_key":"0123456789abcdef"}],"max_tokens":"9"}';
    const job = ['train', '--local', 'g.json', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05'];
    const shown = config.replace('0123456789abcdef', '[redacted]');
    const preview = await svc([...job, '--experimental-config', config, '--dry-run'], { cwd });
    expect(preview.stderr).toContain(shown);
    expect(preview.stderr).not.toContain('0123456789abcdef');
    expect(preview.stdout).toContain(config);
    expect((await svc([...job, '--experimental-config', config], { cwd })).code).toBe(0);
    expect((await svc(['train', 'log'], { cwd })).stdout).toContain(`"experimental_config":${shown}`);
  });

  it.each<[string, readonly string[], boolean]>([
    ['where it is piped', [], false],
    ['on a terminal that is asked for it', ['--json', '--color', 'never'], true],
  ])('is JSON with every digit %s', async (_, args, terminal) => {
    const { stdout } = await svc(['train', 'log', ...args], { cwd: home(text), terminal });
    expect(terminal ? compactJson(rootOf(parseJson(stdout))).concat('\n') : stdout).toBe(
      `[${[
        `${start('0', ',"later":1.50').trim().replace('"entry":"0",', '').slice(0, -1)},"ended_at":"2026-01-30T10:00:01.000Z","applied":"yes","exit_code":0,"id":"0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05","outcome":"applied"}`,
        `${start('1').trim().replace('"local"', '"https://api.svc.test:8443/v1/preview/training-jobs"').replace('"entry":"1",', '').slice(0, -1)},"ended_at":"2026-01-31T10:00:01.000Z","applied":"no","exit_code":0,"id":null,"outcome":"not-applied"}`,
      ].join(',')}]\n`,
    );
  });

  it.each<[string, string, string]>([
    ['whose outcome is unknown', start('0') + end('0', 'unknown'), 'unknown'],
    ['of another machine, without an outcome', start('0'), 'unknown'],
    ['that runs', start('0').replace('elsewhere', 'here'), 'in-flight'],
    ['whose process is gone', start('0').replace('elsewhere', 'here').replace(`${process.pid}`, '1'), 'unknown'],
    ['of which a torn line tells', start('0') + end('0', 'yes').slice(0, 40), 'unknown'],
  ])('lists a job %s', async (_, history, outcome) => {
    const { stdout } = await svc(['train', 'log'], { cwd: home(history), runtime: { host: 'here' } });
    expect(JSON.parse(stdout)).toMatchObject([{ outcome }]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['--limit 1', ['--limit', '1'], ['1']],
    ['--limit beyond what there is', ['--limit=5'], ['0', '1']],
  ])('with %s', async (_, args, keys) => {
    const { stdout } = await svc(['train', 'log', ...args], { cwd: home(text) });
    expect(JSON.parse(stdout).map(({ digest }: { digest: string }) => digest[0])).toEqual(keys);
  });

  it('without jobs is an empty array, or a note', async () => {
    expect(await svc(['train', 'log'])).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
    const shown = await svc(['train', 'log'], { terminal: true });
    expect(shown).toMatchObject({ code: 0, stdout: '', stderr: 'svc: no training job was sent from this machine\n' });
  });

  it.each([
    ['--limit 0', ['--limit', '0'], 2, /--limit: "0" is not a positive integer/],
    ['a word', ['x'], 2, /does not take the argument "x"/],
  ])('with %s is a wrong command line', async (_, args, code, says) => {
    const { stderr, ...rest } = await svc(['train', 'log', ...args]);
    expect({ code: rest.code, stderr }).toEqual({ code, stderr: expect.stringMatching(says) });
  });

  it('names the line of the history that is not a record', async () => {
    const { code, stderr } = await svc(['train', 'log'], { cwd: home(`${text}{}\n`) });
    expect({ code, stderr }).toEqual({
      code: 13,
      stderr: expect.stringMatching(/training-jobs.jsonl:5 is not a valid record: /),
    });
  });
});

describe('log is a subcommand of train', () => {
  it.each<[string, readonly string[]]>([
    ['./log', ['./log']],
    ['log after --', ['--', 'log']],
  ])('%s is a file', async (_, args) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'log'), '{"trajectories":[]}');
    const flags = ['--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--dry-run'];
    const { code, stdout } = await svc(['train', ...flags, ...args], { cwd });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('"trajectory_groups"') });
  });

  it('also after a flag of train, with the flags of both', async () => {
    const { code, stdout, stderr } = await svc(['train', '--error-format', 'json', 'log', '--limit', '1', '--json']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
    const { code: unknown, stderr: message } = await svc(['train', '--exact', 'log']);
    expect({ unknown, message }).toEqual({
      unknown: 2,
      message: expect.stringContaining('unknown flag "--exact" for svc train log'),
    });
  });

  it('and help of train names it', async () => {
    const { stdout } = await svc(['train', '--help']);
    expect(stdout).toMatch(/^Commands:\n {2}svc train lint +Check .*\n {2}svc train log +List the training jobs/m);
    expect((await svc(['help', 'train', 'log'])).stdout).toMatch(/^Usage:\n {2}svc train log/m);
  });
});
