import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { noPostgres, type PostgresServer, postgresServer } from '../support/postgres.ts';
import { run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const peers = new URL('../peers/', import.meta.url);
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Row {
  readonly id: string;
  readonly cell: string;
  /** JSON, with more digits than a number has. */
  readonly digits: string;
}

const NUL = 'a\0b';
const cells = [
  'plain',
  '',
  ' ',
  ' pad ',
  '\ttab\t',
  'a,b',
  'a;b\\,c',
  'say "x"',
  '"',
  '""',
  '","',
  "'",
  'line\nbreak',
  'line\r\nbreak',
  'line\rbreak',
  '\n',
  '\r\n"\r\n',
  '=1+1',
  '+cmd|"/c x"!A1',
  '-2',
  '@sum(A1)',
  '9223372036854775807',
  '0.1000000000000000055511151231257827',
  '007',
  '1e400',
  'null',
  '{"a": [1, "b"]}',
  '\\N \\. \\"',
  'ä€😀\u2028\u0301\ufeff',
  'x"\n'.repeat(30_000),
  NUL,
];
const rows: readonly Row[] = cells.map((cell, at) => ({
  id: String(at + 1),
  cell,
  digits: String(9_223_372_036_854_775_000n + BigInt(at)),
}));

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (!noPostgres()) server = await postgresServer();
});
afterAll(() => server?.remove());

/** A program that writes and reads tables. */
interface Peer {
  /** Of the tables; default: csv. */
  readonly extension?: string;
  readonly missing: () => string | undefined;
  /** Cells that it cannot hold. */
  readonly unable?: readonly string[];
  /** Writes `rows.csv`, or another extension, of `rows.json`. */
  readonly write: (cwd: string) => void;
  /** The rows of `joined.csv`. */
  readonly read: (cwd: string) => Record<string, string>[];
}

function execute(cwd: string, command: string, args: readonly string[], input = ''): Buffer {
  return execFileSync(command, args, { cwd, input, maxBuffer: MAX_OUTPUT_BYTES });
}

const isMissing = (command: string, args: readonly string[]): string | undefined =>
  spawnSync(command, args).status === 0 ? undefined : `${command} ${args.join(' ')} does not work here`;

function pipeTo(cwd: string, command: string, args: readonly string[], input?: string): void {
  writeFileSync(join(cwd, 'rows.csv'), execute(cwd, command, args, input));
}

function inPython(quoting: string, encoding: string, extension: 'csv' | 'tsv' = 'csv'): Peer {
  const delimiter = extension === 'tsv' ? String.raw`\t` : ',';
  const script = `import csv,json
rows=json.load(open('rows.json',encoding='utf-8'))
w=csv.DictWriter(open('rows.${extension}','w',newline='',encoding='${encoding}'),['id','cell','digits'],quoting=csv.${quoting},delimiter='${delimiter}')
w.writeheader()
w.writerows(rows)`;
  const reader = `import csv,json
csv.field_size_limit(10**9)
print(json.dumps(list(csv.DictReader(open('joined.${extension}',newline='',encoding='utf-8-sig'),delimiter='${delimiter}'))))`;
  return {
    extension,
    missing: () => isMissing('python3', ['-c', 'import csv']),
    write: (cwd) => void execute(cwd, 'python3', ['-c', script]),
    read: (cwd) => JSON.parse(execute(cwd, 'python3', ['-c', reader]).toString()),
  };
}

const programs: Readonly<Record<string, Peer>> = {
  Python: inPython('QUOTE_MINIMAL', 'utf-8'),
  'Python with a byte order mark and all quotes': inPython('QUOTE_ALL', 'utf-8-sig'),
  'Python with tabs': inPython('QUOTE_MINIMAL', 'utf-8', 'tsv'),
  SQLite: {
    missing: () => isMissing('sqlite3', ['--version']),
    unable: [NUL],
    write: (cwd) =>
      pipeTo(cwd, 'sqlite3', [
        '-csv',
        '-header',
        ':memory:',
        "select value->>'id' as id, value->>'cell' as cell, value->>'digits' as digits from json_each(cast(readfile('rows.json') as text))",
      ]),
    read: (cwd) =>
      JSON.parse(
        execute(cwd, 'sqlite3', [
          ':memory:',
          '.import --csv joined.csv t',
          "select json_group_array(json_object('id', id, 'cell', cell, 'digits', digits, 'answer', answer)) from t",
        ]).toString(),
      ),
  },
  PostgreSQL: {
    missing: noPostgres,
    unable: [NUL],
    write: (cwd) => {
      const url = server?.newDatabase() ?? '';
      const json = readFileSync(join(cwd, 'rows.json'), 'utf8');
      const select = `select * from jsonb_to_recordset($rows$${json}$rows$) as t(id text, cell text, digits text)`;
      pipeTo(cwd, 'psql', ['-q', '-f', '-', url], `copy (${select}) to stdout (format csv, header)`);
    },
    read: (cwd) => {
      const url = server?.newDatabase() ?? '';
      const columns = ['id', 'cell', 'digits', 'answer'];
      const commands = [
        `create table t (${columns.map((name) => `${name} text`).join()})`,
        String.raw`\copy t from 'joined.csv' (format csv, header)`,
        `select json_agg(json_build_object(${columns.map((name) => `'${name}', coalesce(${name}, '')`).join()})) from t`,
      ];
      const args = commands.flatMap((command) => ['-c', command]);
      return JSON.parse(execute(cwd, 'psql', ['-qAt', ...args, url]).toString());
    },
  },
  Perl: {
    missing: () => isMissing('perl', ['-MText::CSV', '-MJSON::PP', '-e', '1']),
    write: (cwd) => {
      const script = `use Text::CSV; use JSON::PP; local $/; open my $in, "<", "rows.json"; my $rows = decode_json(<$in>);
my $csv = Text::CSV->new({ binary => 1, eol => "\\r\\n", escape_null => 0 }); binmode STDOUT, ":utf8";
$csv->print(*STDOUT, $_) for ["id", "cell", "digits"], map { [@$_{qw(id cell digits)}] } @$rows;`;
      pipeTo(cwd, 'perl', ['-e', script]);
    },
    read: (cwd) => {
      const script = `use Text::CSV; use JSON::PP; open my $in, "<:encoding(UTF-8)", "joined.csv" or die;
my $csv = Text::CSV->new({ binary => 1, auto_diag => 2 }); $csv->header($in);
print encode_json($csv->getline_hr_all($in));`;
      return JSON.parse(execute(cwd, 'perl', ['-e', script]).toString());
    },
  },
  'Papa Parse': {
    missing: () => (existsSync(new URL('node_modules/papaparse', peers)) ? undefined : 'test/peers is not installed'),
    write: (cwd) => {
      const { unparse } = createRequire(peers)('papaparse');
      writeFileSync(join(cwd, 'rows.csv'), unparse(JSON.parse(readFileSync(join(cwd, 'rows.json'), 'utf8'))));
    },
    read: (cwd) => {
      const { parse } = createRequire(peers)('papaparse');
      const { data, errors } = parse(readFileSync(join(cwd, 'joined.csv'), 'utf8').trimEnd(), { header: true });
      expect(errors).toEqual([]);
      return data;
    },
  },
};

describe.each(Object.entries(programs))(
  'a table of %s',
  (name, { extension = 'csv', missing, unable = [], write, read }) => {
    const reason = missing();
    if (reason) process.stderr.write(`skipped: tables of ${name}; ${reason}\n`);
    it.skipIf(reason)(
      'has every byte of each cell in the requests, and again when the results are joined',
      async () => {
        const cwd = temporaryDirectory();
        const able = rows.filter(({ cell }) => !unable.includes(cell));
        writeFileSync(join(cwd, 'rows.json'), JSON.stringify(able));
        write(cwd);
        const received = new Map<string, { cell: string; digits: string }>();
        const { url } = await countingServer(
          (body) => JSON.parse(body).metadata.id,
          ({ text, key }, response) => {
            const content = JSON.parse(text).messages[0].content;
            received.set(key, { cell: content, digits: /"digits": ?([^,}]*)/.exec(text)?.[1] ?? '' });
            answerJson(response, {
              choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
            });
          },
        );
        const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
        const body = [
          '--prompt',
          '{{cell}}',
          '--set',
          'metadata.id={{id}}',
          '--set',
          'metadata.digits:={{digits:json}}',
        ];
        const table = `rows.${extension}`;
        const joinedTable = `joined.${extension}`;
        const send = ['chat', '--rows', table, '-m', 'M', '--exact', ...body];
        const checked = await run([...send, '--dry-run', '--format', 'json'], { cwd, env });
        expect(checked.code, checked.stderr).toBe(0);
        expect(JSON.parse(checked.stdout)).toMatchObject({ good: able.length, bad: 0 });
        const sent = await run([...send, '-o', 'out.jsonl'], { cwd, env });
        expect(sent.code, sent.stderr).toBe(0);
        for (const { id, cell, digits } of able)
          expect(received.get(id), JSON.stringify(cell.slice(0, 40))).toEqual({ cell, digits });
        expect(received.size).toBe(able.length);
        const columns = ['--columns', 'answer=.response.choices[0].message.content'];
        const joined = await run(['batch', 'merge', 'out.jsonl', '--join', table, ...columns, '-o', joinedTable], {
          cwd,
        });
        expect(joined.code, joined.stderr).toBe(0);
        const found = read(cwd);
        for (const [at, { cell, ...row }] of able.entries())
          expect(found[at], JSON.stringify(cell.slice(0, 40))).toEqual({ ...row, cell, answer: cell });
        expect(found).toHaveLength(able.length);
        figure(`CSV: ${able.length} rows written and read by ${name}`);
      },
      120_000,
    );
  },
);
