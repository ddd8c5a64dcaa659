import { describe, expect, it } from 'vitest';
import { createArgumentRedactor } from '../../src/trace/argument-redactor.ts';

const secret = 's3cr3t-value';

describe('the recorded arguments of a command', () => {
  it.each<[string, readonly string[], readonly string[] | undefined]>([
    ['no secret', ['make', '-j4', 'test', 'a=b'], ['make', '-j4', 'test', 'a=b']],
    ['the value after a flag', ['x', '--password', secret, 'y'], ['x', '--password', '[redacted]', 'y']],
    ['the value of a flag', ['x', '--api-key=k'], ['x', '--api-key=[redacted]']],
    ['a flag with one dash', ['x', '-token', secret], ['x', '-token', '[redacted]']],
    ['two flags in a row', ['x', '--token', '--password', secret], ['x', '--token', '--password', '[redacted]']],
    ['an assignment', ['env', `DB_PASSWORD=${secret}`, 'run'], ['env', 'DB_PASSWORD=[redacted]', 'run']],
    ['a header', ['curl', '-H', 'Authorization: Bearer abc'], ['curl', '-H', 'Authorization: [redacted]']],
    ['a URL', ['git', 'clone', 'https://me:pw@h.test/x'], ['git', 'clone', 'https://[redacted]@h.test/x']],
    ['a URL with two @', ['x', 'https://a@b:pw@h.test/'], ['x', 'https://[redacted]@h.test/']],
    [
      'a query parameter',
      ['x', 'https://h.test/?a=1&access_token=t&b=2'],
      ['x', 'https://h.test/?a=1&access_token=[redacted]&b=2'],
    ],
    ['an assignment in a script', ['sh', '-c', 'A=1 TOKEN=t make; x'], ['sh', '-c', 'A=1 TOKEN=[redacted] make; x']],
    ['a quoted value in a script', ['sh', '-c', 'x; PASS="a b" y'], ['sh', '-c', 'x; PASS=[redacted] y']],
    ['a flag in a script', ['sh', '-c', 'x --password p y'], ['sh', '-c', 'x --password [redacted] y']],
    [
      'a header in a script',
      ['sh', '-c', "curl -H 'authorization: Bearer abc' u"],
      ['sh', '-c', "curl -H 'authorization: [redacted]' u"],
    ],
    ['a key of JSON', ['x', '{"a":1,"api_key":"k"}'], ['x', '{"a":1,"api_key":[redacted]}']],
    ['an assignment instead of a program', ['TOKEN=t', 'x'], ['TOKEN=[redacted]', 'x']],
    ['base64 of a value', ['x', btoa(`u:${secret}`)], ['x', expect.stringMatching(/^dTp\[redacted\]/)]],
    ['names that are longer words', ['x', 'monkey=1', 'compass=2', '--author', 'me'], undefined],
    ['a value of the environment', ['x', `--data={"p":"${secret}"}`], ['x', '--data={"p":"[redacted]"}']],
    ['short values, which stay', ['x', 'abc'], ['x', 'abc']],
  ])('hide %s', (_, words, recorded = words) => {
    expect(createArgumentRedactor({}, [secret, 'abc']).redactArguments(words)).toEqual(recorded);
  });

  it('hide the longer of two secrets first', () => {
    const { redactArguments } = createArgumentRedactor({}, ['abcd', 'abcdef']);
    expect(redactArguments(['x', 'abcdef'])).toEqual(['x', '[redacted]']);
  });

  it.each(['a', 'a.', '--a', 'a ', 'a=', '"', '://', '://@'])('of repeated %j are read in linear time', (part) => {
    const { redactText } = createArgumentRedactor({}, []);
    const text = part.repeat(100_000);
    expect(redactText(text).length).toBeGreaterThan(0);
  });

  it('hide the values of variables whose names say that they are secret', () => {
    const env = {
      GITHUB_TOKEN: 'value-a',
      MY_SECRET: 'value-b',
      AWS_SECRET_ACCESS_KEY: 'value-c',
      DB_PASS: 'value-d',
      SSH_KEY: 'value-e',
      PATH: '/bin',
      PWD: '/home/me',
      MONKEY: 'value-x',
      COMPASS: 'value-y',
    };
    const words = Object.values(env);
    const { redactArguments, redactVariable } = createArgumentRedactor(env, []);
    expect(redactArguments(words)).toEqual([...Array(5).fill('[redacted]'), ...words.slice(5)]);
    expect([redactVariable('DB_PASS', ''), redactVariable('URL', 'x://value-a')]).toEqual([
      '[redacted]',
      'x://[redacted]',
    ]);
  });
});
