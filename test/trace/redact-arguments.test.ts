import { describe, expect, it } from 'vitest';
import { redactArguments, secretEnvironmentValues } from '../../src/trace/redact-arguments.ts';

const secret = 's3cr3t-value';

describe('the recorded arguments of a command', () => {
  it.each<[string, readonly string[], readonly string[]]>([
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
    ['a value of the environment', ['x', `--data={"p":"${secret}"}`], ['x', '--data={"p":"[redacted]"}']],
    ['short values, which stay', ['x', 'abc'], ['x', 'abc']],
  ])('hide %s', (_, words, recorded) => {
    expect(redactArguments(words, [secret, 'abc'])).toEqual(recorded);
  });

  it('hide the longer of two secrets first', () => {
    expect(redactArguments(['x', 'abcdef'], ['abcd', 'abcdef'])).toEqual(['x', '[redacted]']);
  });

  it('hide the values of variables whose names say that they are secret', () => {
    const env = {
      GITHUB_TOKEN: 'a',
      MY_SECRET: 'b',
      AWS_SECRET_ACCESS_KEY: 'c',
      DB_PASS: 'd',
      SSH_KEY: 'e',
      PATH: '/bin',
      MONKEY: 'x',
      COMPASS: 'y',
    };
    expect(secretEnvironmentValues(env)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
