import { describe, expect, it } from 'vitest';
import { createArgumentRedactor } from '../../src/trace/argument-redactor.ts';

const secret = 's3cr3t-value';

describe('the recorded arguments of a command', () => {
  it.each<[string, readonly string[], readonly string[] | undefined]>([
    ['no secret', ['make', '-j4', 'test', 'a=b'], ['make', '-j4', 'test', 'a=b']],
    ['the value after a flag', ['x', '--password', secret, 'y'], ['x', '--password', '[redacted]', 'y']],
    ['the value of a flag', ['x', '--api-key=k'], ['x', '--api-key=[redacted]']],
    ['a flag with one dash', ['x', '-token', secret], ['x', '-token', '[redacted]']],
    ['the value of -u', ['curl', '-u', 'me:p w', 'u'], ['curl', '-u', '[redacted]', 'u']],
    ['the value of --user', ['curl', '--user', 'me:pw'], ['curl', '--user', '[redacted]']],
    ['the value of --proxy-user', ['curl', '--proxy-user', "me:p'w"], ['curl', '--proxy-user', '[redacted]']],
    [
      'other values of -u',
      ['x', '-u', 'me', '-u', 'https://h:80/x', '-u', 'h:/x', '--user', '1000:1000', '-u'],
      undefined,
    ],
    ['two flags in a row', ['x', '--token', '--password', secret], ['x', '--token', '--password', '[redacted]']],
    [
      'passwords of a Java key store',
      ['-storepass', secret, '-keypass', secret],
      ['-storepass', '[redacted]', '-keypass', '[redacted]'],
    ],
    ['an argument of jq', ['jq', '--arg', 'token', 'abcd', '.'], ['jq', '--arg', 'token', '[redacted]', '.']],
    [
      'a setting of npm',
      ['npm', 'config', 'set', '//h/:_authToken', 'abcd'],
      ['npm', 'config', 'set', '//h/:_authToken', '[redacted]'],
    ],
    [
      'a setting of git',
      ['git', 'config', '--global', 'x.token', 'a'],
      ['git', 'config', '--global', 'x.token', '[redacted]'],
    ],
    [
      'other settings',
      ['npm', 'config', 'set', 'registry', 'r', 'gh', 'secret', 'set', 'TOKEN', '--org', 'o'],
      undefined,
    ],
    [
      'the password of sshpass',
      ['sshpass', '-p', 'x', 'ssh', '-p', '22'],
      ['sshpass', '-p', '[redacted]', 'ssh', '-p', '22'],
    ],
    [
      'the password of mysql',
      ['/bin/mysql', '-u', 'me', '-pabcd', 'db'],
      ['/bin/mysql', '-u', 'me', '[redacted]', 'db'],
    ],
    [
      'its password with sshpass',
      ['sshpass', '-pabcd', 'scp', '-pr', 'a'],
      ['sshpass', '[redacted]', 'scp', '-pr', 'a'],
    ],
    [
      'the password of a login',
      ['docker', 'login', '-u', 'me', '-p', 'abcd', 'host'],
      ['docker', 'login', '-u', 'me', '-p', '[redacted]', 'host'],
    ],
    ['its password without a space', ['docker', 'login', '-pabcd', 'host'], ['docker', 'login', '[redacted]', 'host']],
    ['its password with sshpass without a command', ['sshpass', '-pabcd'], ['sshpass', '[redacted]']],
    [
      'the password of sshpass after another flag',
      ['sshpass', '-v', '-p', 'x', 'ssh', '-p', '22'],
      ['sshpass', '-v', '-p', '[redacted]', 'ssh', '-p', '22'],
    ],
    ['a port after a login', ['ssh', 'login', '-p', '22'], undefined],
    [
      'other values of -p',
      [
        'docker',
        'run',
        '--name',
        'mysql',
        '-p80:80',
        '-p22',
        '-p',
        '80:80',
        'mysql:8',
        '--arg',
        'a',
        'b',
        'mkdir',
        '-p',
        'd',
      ],
      undefined,
    ],
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
    [
      'words that a shell joins',
      ['sh', '-c', `x; PASS="a"b'c'\\ d#e y; curl -H Authorization:\\ Bearer\\ t -u me:'p w' u`],
      ['sh', '-c', 'x; PASS=[redacted] y; curl -H Authorization:[redacted] -u [redacted] u'],
    ],
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
  ])('are redacted: %s', (_, words, recorded = words) => {
    expect(createArgumentRedactor({}, [secret, 'abc']).redactArguments(words)).toEqual(recorded);
  });

  // The secrets are marked with < and >.
  it.each([
    'https://host/x?token=<abcd>',
    'https://host/x?q=1&api_key=<abcd>',
    'https://host/x?token=<abcd>&q=1',
    'https://<u:p>@host/?api_key=<abcd>',
    'postgres://<u:p>@h:5432/db?sslmode=require&password=<abcd>',
    'https://host/cb#access_token=<abcd>',
    '--url=https://host/x?token=<abcd>',
    '--header=Authorization: <Bearer abcd>',
    '--header=authorization:<ApiKey abcd>',
    '--header=X-Api-Key: <abcd>',
    '--header=Cookie: <a=b; c=d>',
    '-HX-Api-Key: <abcd>',
    'Ocp-Apim-Subscription-Key: <abcd>',
    '--env=API_TOKEN=<abcd>',
    '--env=DB_PASSWORD=<two, words>',
    '-eAPI_TOKEN=<abcd>',
    '-ePASS=<abcd>',
    '--build-arg=NPM_TOKEN=<abcd>',
    '--data=password=<abcd>',
    '--data=user=me&password=<abcd>',
    '--data={"user":"me","password":<"abcd">}',
    '--data={"user":"me","password":<"ab\\"cd">}',
    '--data={"n":1,"credentials":<{"user":"me","pin":1234}>}',
    '--data={"n":1,"tokens":<["abcd","efgh"]>,"m":2}',
    '--conf=spark.password=<abcd>',
    '--set=db.auth.password=<abcd>',
    '--set=a=b,dbPassword=<abcd>,c=d',
    '-Dspring.datasource.password=<abcd>',
    '-var=db_password=<abcd>',
    '//registry.example.com/:_authToken=<abcd>',
    '_auth=<abcd>',
    '1PASSWORD_TOKEN=<abcd>',
    '.password=<abcd>',
    '.users[0].password = <"abcd">',
    'user[password]=<abcd>',
    'AccountName=me;AccountKey=<abcd==>;Suffix=x',
    'bearer=<abcd>',
    'passcode: <abcd>',
    "{'password' => <'abcd'>, 'a' => 1}",
    'connect(user="me", password=<"abcd">)',
    "headers['X-Api-Key'] = <'abcd'>",
    'curl -d "{\\"n\\": 1, \\"password\\": <\\"abcd\\"}">',
    'curl --header "Authorization: <ApiKey abcd>" --silent u',
    'curl "--header=Authorization: <ApiKey abcd>" u',
    'curl --oauth2-bearer <abcd> u',
    'jq -n --arg token <abcd> --argjson n 1 --arg password <"a b"> .',
    'npm config set //h/:_authToken <abcd>; aws configure set aws_secret_access_key <abcd>',
    'git config --global x.token <abcd>; git config y.token <"a b">',
    'https://hooks.slack.com/services/<T0000/B0000/abcd1234>',
    'plink -pw <abcd> host; DB_PW=<abcd> x',
    'sshpass -p <abcd> ssh -p 22 host; sshpass -p<abcd> scp -pr a b',
    'sshpass -v -p <abcd> ssh -p 22 host; docker login -u me -p<abcd> host',
    'mysqldump -u root -p<abcd> db | mysql -p<"a b"> -h host db; mkdir -pv a',
    'docker login -u me -p <abcd> host && az login --service-principal -p <"a b"> -t x; mkdir -p d',
    `--header=X-Upstream: Bearer <${'a1'.repeat(8)}==>`,
    `curl -H "Proxy: basic <${'a/+1'.repeat(4)}>"`,
    'make && docker run --env=API_TOKEN=<abcd> image',
    'x; curl --data=password=<abcd> u; y',
    'x --message "a --password <abcd> b"',
    'curl -u <me:pw> u',
    'curl -u <"me:p w"> u',
    "curl --user=<'me:p w'> u",
    'curl -u<me:pw> u',
    '--user=<me:p w>',
    'curl --proxy-user <me:pw>; y',
    '<me:pw>@host',
    'x <me:p@w>@tcp(host)/db',
    'x //<me:pw>@host/x',
    'x --db=<me:pw>@10.0.0.1:5432/db',
    `x <eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${'a'.repeat(20)}> y`,
    `https://host/<eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.>`,
    `x <AKIA${'A1'.repeat(8)}> y`,
    `x "<ghp_${'a1'.repeat(18)}>"`,
    `x <github_pat_${'a1'.repeat(18)}> <glpat-${'a1'.repeat(10)}> <xoxb-1234567890-abc>`,
    `x <sk-proj-${'a1'.repeat(10)}> <sk_live_${'a1'.repeat(10)}> <hf_${'a1'.repeat(10)}>`,
    `x <-----BEGIN RSA PRIVATE KEY-----\nabcd\n-----END RSA PRIVATE KEY-----> y`,
    'x <-----BEGIN PRIVATE KEY-----\\nabcd>',
    'TOKEN+=<abcd>',
    '--max-tokens=1 --access-token <abcd> --new-token=<abcd>',
    'export INPUT_TOKEN=<abcd> PUBLIC_KEY_PASSWORD=<abcd>',
    'export MAX_TOKENS_SECRET=<abcd> tokenizer_api_key=<abcd> ssl-key=<abcd>',
    'TOKEN?=<abcd>',
    'TOKEN!=<abcd>',
    'export A=1 TOKEN+=<abcd>; make',
    '{"token":<{"v":{"w":"q"},"z":"}abcd"}>,"n":1}',
    '{"tokens":<[["a"],"]abcd"]>,"n":1}',
    '{"credentials":<{"a":{"b":"abcd",>',
    '{"credentials":<{"aws":{"id":"a"},"value":"abcd"}>}',
    "{'token': <{'a': {'b': '}'}, 'c': 'abcd'}>, 'n': 1}",
    'curl -d "{\\"token\\":<{\\"v\\":{},\\"w\\":\\"}\\",\\"z\\":\\"abcd\\"}>,\\"n\\":1}" u',
    'https://host/x?token=<a,b;c)d}e>&q=1',
    'https://host/x?q=1&api_key=<a|b;c>#top',
    'curl "https://host/x?token=<a;b>" u',
    "curl 'https://host/cb#access_token=<a,b>' u",
  ])('hide the marked parts of %s', (marked) => {
    const { redactText } = createArgumentRedactor({}, []);
    const secrets = /<([^<>]*)>/g;
    expect(redactText(marked.replace(secrets, '$1'))).toBe(marked.replace(secrets, '[redacted]'));
  });

  it.each([
    'https://host/x?q=1&page=2#top',
    'http://127.0.0.1:8080/a:b@c',
    '--header=Accept: text/plain; q=0.5',
    '--header=Content-Type: application/json',
    '--env=PATH=/bin:/usr/bin',
    '--env=HOME',
    '--build-arg=VERSION=1.2.3',
    '--conf=spark.executor.memory=4g',
    '--data={"user":"me","n":[1,2],"o":{"a":"b"}}',
    '--volume=/a:/b:ro',
    '--author=Me <me@host>',
    'C:\\Users\\me',
    '12:30:45',
    'for i in 1 2 3; do echo "n: $i"; done',
    'A=1 B="two words" make test',
    'x; TOKEN=; make',
    '--keyboard=us --monkey=1 compass: 2',
    'x --token | y',
    'WHERE a = 1 AND b = 2',
    'PWD=/home/me',
    'docker run --user 1000:1000 -u root image',
    'docker run --name mysql -p3306:3306 -p127.0.0.1:80:80 image; mkdir -pv a; mysql -p db -P3306; grep -pa b',
    'jq --arg name value --args a',
    'npm config set registry r; npm config get token; gh secret set TOKEN --org o; set token limit',
    'ssh -p 22 login; ssh login -p 22; relogin -p abcd; login; mkdir -p abcd',
    'basic 2024 Bearer tokenized-and-long-words',
    'mailto:me@host git@host:me/x host:/path@2',
    'registry/name:1.2@sha256:abcd name:1.2@sha256:abcd npm:pkg@next a:b@1.2.3',
    'sk-learn-and-other-long-words eyJ eyJabcdefgh.x -----BEGIN CERTIFICATE-----',
    '--tokenizer=m --num_tokens=7 --max-new-tokens=8 --maxTokens=9 --n-tokens=1',
    '{"prompt_tokens":3,"token_count":4,"total_tokens":7}',
    '--pass-rate=0.9 --public-key=k --primary_key=id --sort-key=name --secretary=z',
    'idempotency-key: k',
  ])('are kept: %s', (text) => {
    expect(createArgumentRedactor({}, []).redactText(text)).toBe(text);
  });

  it('are redacted longest secret first', () => {
    const { redactArguments } = createArgumentRedactor({}, ['abcd', 'abcdef']);
    expect(redactArguments(['x', 'abcdef'])).toEqual(['x', '[redacted]']);
  });

  it.each([
    'a',
    'a.',
    '--a',
    'a ',
    'a=',
    'a"',
    '--a  ',
    'key="',
    'key=',
    'key={',
    'key=[]',
    '&key=x',
    '-u a',
    '-u ',
    ' ',
    'mysql ',
    'config ',
    'config set ',
    ' -p',
    'mysql -pa ',
    'login -p a ',
    'login ',
    'Bearer a1',
    'Bearer ',
    '--arg a ',
    'a:b',
    'a:;',
    'a@',
    'eyJ',
    'eyJabcdef.',
    'sk-a',
    '-----BEGIN PRIVATE KEY-----',
    'key={"',
    'key+=',
    '"key=',
    '"',
    '://',
    '://@',
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
