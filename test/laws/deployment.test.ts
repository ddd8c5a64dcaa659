import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { allCommands, sharedFlags } from '../../src/cli/all-commands.ts';

// Files that other systems read: workflows, the action, the compose file, and the manifests of docs/scale.md. The schemas
// have the parts of those of GitHub, Compose and Kubernetes that these files use, and reject every other key.
const root = new URL('../../', import.meta.url).pathname;
const { version, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

type Schema = { readonly [keyword: string]: unknown };

const text: Schema = { type: 'string' };
const texts = (items: Schema = text): Schema => ({ type: 'array', items, minItems: 1 });
const variables: Schema = { type: 'object', additionalProperties: { type: ['string', 'number'] } };
const object = (properties: { readonly [name: string]: Schema }, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const only = (value: unknown): Schema => ({ const: value });
const named = (schema: Schema): Schema => ({ type: 'object', additionalProperties: schema, minProperties: 1 });

const access: Schema = { enum: ['read', 'write', 'none'] };
const permissions = object({ contents: access, 'id-token': access });
const concurrency = object({ group: text, 'cancel-in-progress': { type: 'boolean' } }, ['group']);
const workflowStep: Schema = {
  ...object({
    name: text,
    uses: { type: 'string', pattern: '^[\\w-]+/[\\w-]+@[0-9a-f]{40}$' },
    with: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
    run: text,
    env: variables,
    'working-directory': text,
  }),
  oneOf: [{ required: ['uses'] }, { required: ['run'] }],
};
const workflow = object(
  {
    name: text,
    on: object({
      push: object({ branches: texts(), tags: texts() }),
      pull_request: { type: 'null' },
    }),
    permissions,
    concurrency,
    jobs: named(
      object(
        {
          needs: text,
          'runs-on': only('ubuntu-24.04'),
          'timeout-minutes': { type: 'integer', minimum: 1, maximum: 60 },
          environment: text,
          permissions,
          strategy: object({ 'fail-fast': { type: 'boolean' }, matrix: { type: 'object' } }, ['matrix']),
          steps: texts(workflowStep),
        },
        ['runs-on', 'timeout-minutes', 'steps'],
      ),
    ),
  },
  ['name', 'on', 'permissions', 'concurrency', 'jobs'],
);

const described = object({ description: text, required: { type: 'boolean' }, default: text }, ['description']);
const action = object(
  {
    name: text,
    description: { type: 'string', maxLength: 125 },
    branding: object({ icon: text, color: text }),
    inputs: named(described),
    outputs: named(object({ description: text, value: text }, ['description', 'value'])),
    runs: object(
      {
        using: only('composite'),
        steps: texts(
          object({ name: text, id: text, shell: only('bash'), env: variables, 'working-directory': text, run: text }, [
            'shell',
            'run',
          ]),
        ),
      },
      ['using', 'steps'],
    ),
  },
  ['name', 'description', 'runs'],
);

const condition = only('service_healthy');
const compose = object({
  services: named(
    object({
      image: text,
      build: text,
      command: texts(),
      environment: variables,
      secrets: texts(),
      volumes: texts({ type: 'string', pattern: '^[a-z]+:/[\\w/]+$' }),
      healthcheck: object({ test: texts(), interval: text, retries: { type: 'integer' } }),
      read_only: only(true),
      cap_drop: texts(only('ALL')),
      security_opt: texts(),
      depends_on: named(object({ condition }, ['condition'])),
      profiles: texts(),
      network_mode: text,
    }),
  ),
  secrets: named(object({ file: text }, ['file'])),
  volumes: named(object({})),
});

const containerSecurity = object({
  readOnlyRootFilesystem: only(true),
  allowPrivilegeEscalation: only(false),
  capabilities: object({ drop: texts(only('ALL')) }),
});
const container = object(
  {
    name: { type: 'string', pattern: '^[a-z0-9-]{1,63}$' },
    image: text,
    args: texts(),
    env: texts(object({ name: text, value: text }, ['name', 'value'])),
    envFrom: texts(object({ secretRef: object({ name: text }, ['name']) })),
    restartPolicy: only('Always'),
    startupProbe: object({ exec: object({ command: texts() }, ['command']) }),
    securityContext: containerSecurity,
    volumeMounts: texts(object({ name: text, mountPath: { type: 'string', pattern: '^/' } }, ['name', 'mountPath'])),
  },
  ['name', 'image'],
);
const volume: Schema = {
  ...object({ name: text, emptyDir: object({}), persistentVolumeClaim: object({ claimName: text }, ['claimName']) }, [
    'name',
  ]),
  minProperties: 2,
};
const podSpec = object(
  {
    restartPolicy: { enum: ['Never', 'OnFailure'] },
    terminationGracePeriodSeconds: { type: 'integer', minimum: 0 },
    securityContext: object({
      runAsNonRoot: only(true),
      runAsUser: { type: 'integer' },
      fsGroup: { type: 'integer' },
    }),
    initContainers: texts(container),
    containers: texts(container),
    volumes: texts(volume),
  },
  ['restartPolicy', 'containers'],
);
const metadata = object({ name: { type: 'string', pattern: '^[a-z0-9-]{1,63}$' } }, ['name']);
const codes = texts({ type: 'integer' } as Schema);
const job = object(
  {
    completionMode: { enum: ['Indexed', 'NonIndexed'] },
    completions: { type: 'integer' },
    parallelism: { type: 'integer' },
    backoffLimit: { type: 'integer' },
    podFailurePolicy: object({
      rules: texts(
        object({
          action: only('FailJob'),
          onExitCodes: object({ operator: { enum: ['In', 'NotIn'] }, values: codes }),
        }),
      ),
    }),
    template: object({ spec: podSpec }, ['spec']),
  },
  ['template'],
);
const manifests: { readonly [kind: string]: Schema } = {
  'batch/v1 Job': object({ apiVersion: text, kind: text, metadata, spec: job }, ['metadata', 'spec']),
  'v1 Pod': object({ apiVersion: text, kind: text, metadata, spec: podSpec }, ['metadata', 'spec']),
  'run.googleapis.com/v1 Job': object(
    {
      apiVersion: text,
      kind: text,
      metadata,
      spec: object({
        template: object({
          spec: object({
            taskCount: { type: 'integer' },
            template: object({ spec: object({ containers: texts(object({ image: text, args: texts() })) }) }),
          }),
        }),
      }),
    },
    ['metadata', 'spec'],
  ),
};

function errorsOf(schema: Schema, value: unknown): unknown {
  const validate = new Ajv2020({ allErrors: true }).compile(schema);
  validate(value);
  return validate.errors;
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

describe('workflows', () => {
  const names = readdirSync(join(root, '.github/workflows'));

  it.each(names)('%s conforms to the schema', (name) => {
    expect(errorsOf(workflow, parse(read(`.github/workflows/${name}`)))).toBe(null);
  });

  it.each(names)('%s runs scripts that exist, and expands nothing in a script', (name) => {
    const { jobs } = parse(read(`.github/workflows/${name}`));
    const all: { jobs: { steps: { run?: string }[] }[] } = { jobs: Object.values(jobs) };
    const runs = all.jobs.flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
    expect(runs.filter((run) => run.includes('${{'))).toEqual([]);
    const words = runs.join('\n');
    for (const [, script = ''] of words.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(script);
    for (const [path] of words.matchAll(/\.ci\/\w+/g)) expect(existsSync(join(root, path))).toBe(true);
  });

  it('give each job the least permissions', () => {
    const { permissions: all, jobs } = parse(read('.github/workflows/release.yml'));
    expect(all).toEqual({});
    expect(jobs.check.permissions).toEqual({ contents: 'read' });
    expect(jobs.publish.permissions).toEqual({ contents: 'write', 'id-token': 'write' });
    expect(parse(read('.github/workflows/ci.yml')).permissions).toEqual({ contents: 'read' });
  });
});

it('the action conforms to the schema, and its scripts expand no input', () => {
  const parsed = parse(read('action.yml'));
  expect(errorsOf(action, parsed)).toBe(null);
  const steps: { run: string }[] = parsed.runs.steps;
  expect(steps.filter(({ run }) => run.includes('${{'))).toEqual([]);
});

it('the action refuses every flag whose value names a file, a host or a program', () => {
  const [, list = ''] = /case \$form in([\s\S]*?)esac/.exec(read('action.yml')) ?? [];
  const refused = new Set(list.match(/--?[\w*-]+/g));
  const flags = [...sharedFlags(), ...allCommands.flatMap((command) => command.flags)];
  // Of @file, every form is refused.
  const named = flags.filter(({ value = '' }) => /^(?!.*@).*(file|directory|url|command)/.test(value));
  const names = named.map(({ name }) => `--${name}`);
  const missing = [...new Set(names)].filter((form) => !refused.has(form) && !form.endsWith('-base-url'));
  expect(missing, 'add these flags to the `case $form` of action.yml').toEqual([]);
});

it('the compose file conforms to the schema and names only what it defines', () => {
  const parsed = parse(read('compose.yaml'));
  expect(errorsOf(compose, parsed)).toBe(null);
  const services: { secrets?: string[]; volumes?: string[]; depends_on?: object; network_mode?: string }[] =
    Object.values(parsed.services);
  for (const { secrets = [], volumes = [], depends_on = {}, network_mode = 'service:svc' } of services) {
    expect(Object.keys(parsed.secrets)).toEqual(expect.arrayContaining(secrets));
    expect(Object.keys(parsed.volumes)).toEqual(expect.arrayContaining(volumes.map((one) => one.replace(/:.*/, ''))));
    expect(Object.keys(parsed.services)).toEqual(expect.arrayContaining(Object.keys(depends_on)));
    expect(Object.keys(parsed.services)).toContain(network_mode.replace('service:', ''));
  }
  expect([parsed.services.svc.image, parsed.services.client.image]).toEqual([IMAGE, IMAGE]);
});

const IMAGE = `OWNER/svc:${version}`;

describe('the manifests of docs/scale.md', () => {
  const found = [...read('docs/scale.md').matchAll(/^```yaml\n([\s\S]*?)^```/gm)]
    .flatMap(([, block = '']) => parseAllDocuments(block).map((document) => document.toJS()))
    .filter(({ apiVersion }) => apiVersion !== undefined)
    .map((manifest) => ({ manifest, kind: `${manifest.apiVersion} ${manifest.kind}` }));

  it('are there', () => {
    expect(found.map(({ kind }) => kind).sort()).toEqual(Object.keys(manifests).sort());
  });

  it.each(found)('$kind conforms to the schema and names the image of this version', ({ kind, manifest }) => {
    expect(errorsOf(manifests[kind] ?? {}, manifest)).toBe(null);
    const images = [...JSON.stringify(manifest).matchAll(/"image":"([^"]*)"/g)].map(([, image]) => image);
    expect(new Set(images)).toEqual(new Set([IMAGE]));
  });
});

it('the image runs svc as a user without rights', () => {
  const dockerfile = read('Dockerfile');
  expect(dockerfile).toContain(`ARG SVC_VERSION=${version}\n`);
  for (const line of ['USER 10001:10001', 'STOPSIGNAL SIGTERM', 'VOLUME /data', 'ENTRYPOINT ["svc"]'])
    expect(dockerfile.split('\n')).toContain(line);
});
