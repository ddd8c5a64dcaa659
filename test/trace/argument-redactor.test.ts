import { describe, expect, it } from 'vitest';
import { createArgumentRedactor } from '../../src/output/redaction.ts';

const secret = 's3cr3t-value';

describe('the recorded arguments of a command', () => {
  it.each<[string, readonly string[], readonly string[] | undefined]>([
    ['no secret', ['make', '-j4', 'test', 'a=b'], ['make', '-j4', 'test', 'a=b']],
    ['the value after a flag', ['x', '--password', secret, 'y'], ['x', '--password', '[redacted]', 'y']],
    ['the value of a flag', ['x', '--api-key=k', '--dbpass=X'], ['x', '--api-key=[redacted]', '--dbpass=[redacted]']],
    ['a flag with one dash', ['x', '-token', secret], ['x', '-token', '[redacted]']],
    ['two flags in a row', ['x', '--token', '--password', secret], ['x', '--token', '--password', '[redacted]']],
    [
      'passwords of a Java key store',
      ['-storepass', secret, '-keypass', secret],
      ['-storepass', '[redacted]', '-keypass', '[redacted]'],
    ],
    ['an assignment', ['env', 'DB_PASSWORD=two words', 'run'], ['env', 'DB_PASSWORD=[redacted]', 'run']],
    ['a URL', ['git', 'clone', 'https://me:pw@h.test/x'], ['git', 'clone', 'https://[redacted]@h.test/x']],
    ['a URL with two @', ['x', 'https://a@b:pw@h.test/'], ['x', 'https://[redacted]@h.test/']],
    ['an assignment in a script', ['sh', '-c', 'A=1 TOKEN=t make; x'], ['sh', '-c', 'A=1 TOKEN=[redacted] make; x']],
    ['a quoted value in a script', ['sh', '-c', 'x; PASS="a b" y'], ['sh', '-c', 'x; PASS=[redacted] y']],
    ['a flag in a script', ['sh', '-c', 'x --password p y'], ['sh', '-c', 'x --password [redacted] y']],
    ['an assignment instead of a program', ['TOKEN=t', 'x'], ['TOKEN=[redacted]', 'x']],
    ['base64 of a value', ['x', btoa(`u:${secret}`)], ['x', expect.stringMatching(/^dTp\[redacted\]/)]],
    ['names that are longer words', ['x', 'monkey=1', 'compass=2', '--bypass=3', '--author', 'me'], undefined],
    ['a value of the environment', ['x', `--data={"p":"${secret}"}`], ['x', '--data={"p":"[redacted]"}']],
    [
      'tokens by their form',
      ['curl', '-H', 'Authorization: Bearer sk-proj-abcdefghij0123456789', 'gsk_abcdefghij0123456789', 'sk-learn'],
      ['curl', '-H', 'Authorization: Bearer [redacted]', '[redacted]', 'sk-learn'],
    ],
    ['short values, which stay', ['x', 'abc'], ['x', 'abc']],
  ])('are redacted: %s', (_, words, recorded = words) => {
    expect(createArgumentRedactor({}, [secret, 'abc']).redactArguments(words)).toEqual(recorded);
  });

  // The secrets are marked with < and >.
  it.each([
    'https://host/x?token=<abcd>&q=1',
    'postgres://<u:p>@h:5432/db?sslmode=require&password=<abcd>',
    '--url=https://host/x?token=<abcd>',
    '--env=API_TOKEN=<abcd>',
    '-eAPI_TOKEN=<abcd>',
    '--build-arg=NPM_TOKEN=<abc=def==>',
    '--data=user=me&password=<abcd>',
    '--set=db.auth.password=<abcd>',
    '-Dspring.datasource.password=<abcd>',
    '_auth=<abcd>',
    '1PASSWORD_TOKEN=<abcd>',
    'A=1 DB_PW=<abcd> x; DBPWD=<ab"c d">',
    'x; curl --data=password=<abcd> u; y',
    'curl --oauth2-bearer <abcd> u',
    '--max-tokens=1 --access-token <abcd> --new-token=<abcd>',
    'export INPUT_TOKEN=<abcd> PUBLIC_KEY_PASSWORD=<abcd>',
    'export MAX_TOKENS_SECRET=<abcd> tokenizer_api_key=<abcd> ssl-key=<abcd>',
  ])('hide the marked parts of %s', (marked) => {
    const { redactText } = createArgumentRedactor({}, []);
    const secrets = /<([^<>]*)>/g;
    expect(redactText(marked.replace(secrets, '$1'))).toBe(marked.replace(secrets, '[redacted]'));
  });

  it.each([
    'https://host/x?q=1&page=2#top',
    'http://127.0.0.1:8080/a:b@c',
    '--env=PATH=/bin:/usr/bin',
    '--build-arg=VERSION=1.2.3',
    '--author=Me <me@host>',
    'A=1 B="two words" make test',
    'x; TOKEN=; make',
    '--keyboard=us --monkey=1 compass: 2',
    'x --token | y',
    'PWD=/home/me OLDPWD=/home',
    'docker run --user 1000:1000 -u root -p 80:80 image',
    '--tokenizer=m --num_tokens=7 --max-new-tokens=8 --maxTokens=9 --n-tokens=1',
    '--pass-rate=0.9 --public-key=k --primary_key=id --sort-key=name --secretary=z',
    // The shapes of particular programs stay, as the help says.
    'mysql -pabcd; sshpass -p abcd ssh h; curl -u me:pw -H "Authorization: Bearer abcd" h',
  ])('are kept: %s', (text) => {
    expect(createArgumentRedactor({}, []).redactText(text)).toBe(text);
  });

  it('are redacted longest secret first', () => {
    const { redactArguments } = createArgumentRedactor({}, ['abcd', 'abcdef']);
    expect(redactArguments(['x', 'abcdef'])).toEqual(['x', '[redacted]']);
  });

  it.each([
    ...['a', 'a.', '--a', 'a ', 'a=', 'a"', '--a  ', 'key="', 'key=', 'key= ', '&key=x', '--key a ', '--key ', ' '],
    ...['"key=', '"', '://', '://@', 'a:b', 'a@', 'sk-', ' sk-', 'eyJ', ' eyJa'],
  ])('of repeated %j are read in linear time', (part) => {
    const { redactText } = createArgumentRedactor({}, []);
    const text = part.repeat(100_000);
    expect(redactText(text).length).toBeGreaterThan(0);
  });

  it('have values of variables that are switches or small numbers', () => {
    const env = { AUTH_TOKEN: 'true', USE_COOKIES: 'FALSE', TOKEN_WINDOW: '4096', LOGIN_OTP: '123456' };
    const { redactArguments } = createArgumentRedactor(env, []);
    expect(redactArguments(['--shuffle=true', 'FALSE', '4096', '123456'])).toEqual([
      '--shuffle=true',
      'FALSE',
      '4096',
      '[redacted]',
    ]);
  });

  it('have no values of variables whose names mark them as secret', () => {
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
