import { exitCodes } from '../../errors.ts';

/** The environment variables svc reads and what each is for. An empty one counts as unset. */
export const environmentVariables: readonly (readonly [name: string, purpose: string])[] = [
  ['SVC_PROFILE', 'profile to use where --profile names none'],
  ['SVC_BASE_URL', 'base address of the service'],
  ['SVC_TRACE_BASE_URL', 'base address for feedback and calls'],
  ['SVC_CHAT_BASE_URL', 'base address for chat completions'],
  ['SVC_TRAIN_BASE_URL', 'base address for training jobs'],
  ['SVC_USERNAME', 'user for feedback and calls, together with SVC_PASSWORD'],
  ['SVC_PASSWORD', 'password for feedback and calls'],
  ['SVC_TOKEN', 'token for chat completions and training jobs'],
  ['SVC_PROJECT_ID', 'project where a body names none'],
  ['SVC_MODEL', 'model where a chat names none'],
  ['SVC_TIMEOUT', 'limit for a whole exchange, such as 90s'],
  ['SVC_RETRIES', 'repeats after passing failures, 0 to 99'],
  ['SVC_ERROR_FORMAT', 'text or json: form of what goes to stderr'],
  ['SVC_CONFIG_DIR', 'folder of the profiles'],
  ['SVC_DATA_DIR', 'folder of the data of the embedded service and the ledger of training jobs'],
  ['SVC_UPSTREAM_TOKEN', 'token for the server behind svc serve --upstream'],
  ['HTTPS_PROXY, HTTP_PROXY', 'http or https proxy; loopback never goes through one'],
  ['NO_PROXY', 'hosts that need no proxy'],
  ['NODE_EXTRA_CA_CERTS', 'PEM file of authorities to trust besides the usual ones'],
  ['NO_COLOR, FORCE_COLOR', 'colours off, colours on'],
];

/** The topics of `svc help` that are no commands. */
export const helpTopics: { readonly [name: string]: () => string } = {
  'exit-codes': () => {
    const rows = Object.values(exitCodes).map(
      ({ code, meaning, retry }) => [String(code).padStart(4), meaning, retry] as const,
    );
    return rows
      .map(([code, meaning, again]) => `${code}  ${meaning}${again ? `\n      run again: ${again}` : ''}\n`)
      .join('');
  },
  environment: () => {
    const widest = Math.max(...environmentVariables.map(([name]) => name.length));
    return environmentVariables.map(([name, purpose]) => `${name.padEnd(widest)}  ${purpose}\n`).join('');
  },
};
