interface Synonyms {
  readonly [word: string]: string;
}

const VERIFY = 'svc always verifies certificates; to trust another CA, write --cacert <file>';
const MODELS = 'svc does not list models; name one with svc chat -m <model>';
const SECRET = 'svc takes no secret as an argument; run: svc auth login --token-stdin, or set SVC_TOKEN';
const USER = 'svc takes no secret as an argument; run: svc auth login --password-stdin --username <name>';
const POST = 'leave it out: each operation of svc is a POST';
const CALLS = 'svc records the start of a call, and the end of a command: svc call run -- <command>';
const SET = 'svc profile set <name> --base-url <url>';
const BACKGROUND = 'run it in the background with &, or as a service of the system';
const STDIO = 'leave it out: the tools are served over stdin and stdout';
const REDIRECT = 'svc follows no redirects; write the final URL with --base-url';

/**
 * Words of other tools, by tool, and what svc has instead: a command, a flag, several of them, or a sentence. A word is a
 * command, a flag, a flag of one command (`train --data`), or a value (`--format=yml`). A law runs each.
 */
// biome-ignore format: several words per line
export const otherTools: { readonly [tool: string]: Synonyms } = {
  curl: {
    '-d': '--file', '--data': '--file', '--data-binary': '--file', '--data-raw': '--set', '--data-urlencode': '--set',
    '-F': '--attach', '--form': '--attach', '-T': '--file', '--upload-file': '--file',
    '-k': VERIFY, '--insecure': VERIFY, '-X': POST, '--request': POST, '-L': REDIRECT, '--location': REDIRECT,
    '--url': '--base-url', '-u': USER, '--oauth2-bearer': SECRET, '--max-time': '--timeout',
    '--connect-timeout': '--timeout', '--retry': '--retries', '--retry-max-time': '--max-outage', '--silent': '--quiet',
    '-i': '--verbose', '--include': '--verbose', '--fail': 'svc exits with a code for each kind of failure; run: svc help exit-codes',
    '-x': 'set HTTPS_PROXY or HTTP_PROXY', '--proxy': 'set HTTPS_PROXY or HTTP_PROXY', '--noproxy': 'set NO_PROXY',
    '--trace': '--verbose', '--trace-ascii': '--verbose', '-A': '--header', '--user-agent': '--header', '-b': '--header',
    '--cookie': '--header', '-e': '--header', '--referer': '--header', '--parallel': '--concurrency', '--ca-bundle': '--cacert',
    '--capath': '--cacert', '--compressed': 'leave it out: svc decodes compressed responses by itself', '--http2': 'leave it out: svc speaks HTTP/1.1',
    '--limit-rate': '--rate', '--fail-with-body': 'svc exits with a code for each kind of failure; run: svc help exit-codes', '--no-buffer': '--stream', '-N': '--stream', '-G': POST, '--get': POST, '-I': '--verbose', '--head': '--verbose',
    '--retry-delay': 'leave it out: svc waits as long as the service asks', '--retry-all-errors': '--retry-unknown', '--create-dirs': 'create the directory with mkdir -p', '--url-query': 'a URL of svc has no query; to set a field of the body, write --set <path=value>',
    '--unix-socket': 'svc connects to a host and a port; write --base-url http://127.0.0.1:<port>', '--resolve': 'svc asks the system for addresses; write --base-url <url>', '--netrc': 'svc reads no netrc file; run: svc auth login', '--ciphers': 'leave it out: svc uses the ciphers of Node', '--json-data': '--file', '--write-out': '--stats', '-w': '--stats', '--fail-early': '--fail-fast', '--libcurl': '--curl',
  },
  HTTPie: {
    '--verify': VERIFY, '--raw': '--file', '--body': '--quiet', '-p': '--verbose', '--print': '--verbose',
    '--headers': '--header', '--pretty': '--format', '--style': '--color', '--offline': '--dry-run', '--follow': REDIRECT,
    '--download': '--output', '--auth': SECRET, '-a': SECRET, '--auth-type': 'run: svc profile set <name> --trace-auth bearer',
    '--session': '--conversation', '--ignore-stdin': '--no-stdin', '--multipart': '--attach', '--check-status': 'svc exits with a code for each kind of failure; run: svc help exit-codes',
    '--max-redirects': REDIRECT, '--stream-output': '--stream', 'http': 'svc chat', 'post': 'svc chat',
  },
  gh: {
    'login': 'svc auth login', 'logout': 'svc auth logout', 'status': 'svc auth status, or svc doctor', 'api': 'svc chat, or svc spec',
    'alias': 'svc has no aliases; define one in your shell', 'browse': 'svc serve', 'run': 'svc call run', 'auth refresh': 'svc auth login',
    'auth token': 'svc shows no secrets; run: svc auth status', 'auth switch': 'svc profile use <name>', 'auth setup': 'svc auth login',
    '--show-token': 'svc shows no secrets; run: svc auth status', 'auth list': 'svc profile list', 'auth logout --all': '--profile', 'extension': 'svc has no plugins; run: svc --help', 'pr': 'svc has no such command; run: svc --help',
    '--with-token': '--token-stdin', '--hostname': '--base-url', '--field': '--set', '--raw-field': '--set',
    '--template': '--jq', '-t': '--jq', '--web': 'svc serve', '--paginate': 'leave it out: each response of svc is whole',
    '--body-file': '--file', '--repo': '--project-id', '-R': '--project-id', '--jq-filter': '--jq', '--state': '--jq',
  },
  aws: {
    'configure': 'svc auth login, or svc profile set <name> --base-url <url>', 'configure list': 'svc profile show', '--cli-input-json': '--file',
    '--generate-cli-skeleton': 'svc spec <operation> --skeleton', '--endpoint-url': '--base-url', '--endpoint': '--base-url',
    '--max-items': 'leave it out: each response of svc is whole', '--starting-token': 'leave it out: each response of svc is whole', '--query': '--jq', '--no-verify-ssl': VERIFY, '--no-sign-request': '--no-token', '--region': '--base-url', '--cli-read-timeout': '--timeout',
    '--no-paginate': 'leave it out: each response of svc is whole', '--no-cli-pager': 'set PAGER to an empty text', '--output-format': '--format',
    '--output=table': '--format table', '--output=text': '--format text', '--ca-cert': '--cacert', 'sts': 'svc auth status', 's3': 'svc has no such command; run: svc --help',
  },
  kubectl: {
    'get': 'svc log, svc train log, or svc profile list', 'list': 'svc log, svc train log, or svc profile list',
    'describe': 'svc log show <n>, or svc profile show', 'apply': 'svc feedback replace', 'create': 'svc feedback replace, or svc call start',
    'delete': 'svc profile remove <name>, or svc log clear', 'logs': 'svc log', 'explain': 'svc spec', 'config': 'svc profile show, or svc profile set <name> --base-url <url>',
    'config get-contexts': 'svc profile list', 'config use-context': 'svc profile use <name>', 'cluster-info': 'svc doctor', 'port-forward': 'svc serve --port <n>', 'wait': 'svc waits for each response; run: svc train log', 'top': 'svc batch report out.jsonl', '--all-namespaces': '--project-id', 'train --watch': 'svc does not follow jobs; run: svc train log', 'exec': 'svc call run',
    'version': 'svc --version', 'context': 'svc profile use <name>', 'diff': 'svc batch report before.jsonl after.jsonl --compare',
    '--context': '--profile', '--filename': '--file', '--namespace': '--project-id', '--kubeconfig': 'set SVC_CONFIG_DIR',
    '--server': '--base-url', '--certificate-authority': '--cacert', '--insecure-skip-tls-verify': VERIFY, '--request-timeout': '--timeout',
    '--token': SECRET, '--dry-run=client': '--dry-run', '--wide': '--format table', '--watch': '--stream', '--force': '--yes',
  },
  llm: {
    'prompt': 'svc chat', 'keys': 'svc auth login', 'keys set': 'svc auth login', 'models': MODELS, 'models list': MODELS,
    'models default': 'svc profile set <name> --model <model>', 'history': 'svc log', 'schemas': 'svc spec', 'logs list': 'svc log', 'plugins': 'svc has no plugins; run: svc --help',
    'collections': 'svc has no embeddings; run: svc --help', 'embed': 'svc has no embeddings; run: svc --help', 'similar': 'svc has no embeddings; run: svc --help', 'templates': 'svc profile set <name> --model <model>',
    '--option': '--set', 'chat -c': 'write --continue, or --concurrency <n> with --batch', 'chat -t': 'write --temperature <x>, or --system <text>', 'chat -a': '--attach', '--key': '--token-env', '--schema': '--json-schema', '--fragment': '--attach', '--attachment': '--attach',
    '--at': '--attach', '--no-log': 'set SVC_HISTORY=off', '--conversation-id': '--continue', '--cid': '--continue', '--tool': '--tools', '--usage': '--stats',
  },
  aichat: {
    'ask': 'svc chat', 'chat -r': '--system', 'chat -e': 'svc runs no commands of a model; to print them, write --extract code', 'repl': 'svc chat', 'session': 'svc chat', 'sessions': 'svc log', 'info': 'svc doctor', '--role': '--system', '--rag': '--documents', '--list-models': MODELS,
    '--list-sessions': 'svc log', '--info': 'svc doctor', '--serve': 'svc serve', '--code': '--extract code', '--instruction': '--system',
    '--execute': 'svc call run', '--file-input': '--attach', '--session-name': '--conversation', '--macro': '--rows',
  },
  openai: {
    'chats': 'svc chat', 'chat -g': 'write --message <role:text>', 'train status': 'svc train log', 'train list': 'svc train log', 'train get': 'svc train log', 'train cancel': 'svc cannot cancel a job; for its id, run: svc train log', 'train create': 'svc train', 'train --epochs': '--experimental-config', 'train -m': '--model-id', 'batch resume': 'svc chat --batch <file> -o out.jsonl --resume', 'batch create': 'svc chat --batch <file>', 'batch run': 'svc chat --batch <file>', 'batch status': 'svc batch report out.jsonl',
    'completions': 'svc chat', 'completion': 'svc chat', 'responses': 'svc chat', 'api chat': 'svc chat', 'chat.completions': 'svc chat',
    'fine-tune': 'svc train', 'finetune': 'svc train', 'fine_tuning': 'svc train', 'jobs': 'svc train log', 'batches': 'svc chat --batch <file>', 'files': 'svc train',
    'embeddings': 'svc has no embeddings; run: svc --help', 'images': 'svc makes no images; to send one, write svc chat --attach <file>', 'audio': 'svc makes no audio; to send one, write svc chat --attach <file>',
    '--api-key': SECRET, '--api-base': '--base-url', '--organization': '--header', '--max-output-tokens': '--max-completion-tokens', '--max_tokens': '--max-completion-tokens',
    '--instructions': '--system', '--reasoning': '--reasoning-effort', '--best-of': '--n', '--num-completions': '--n', '--num-choices': '--n', '--temp': '--temperature', '--stop-sequences': '--stop',
    '--functions': '--tools', '--function-call': '--tool-choice', '--image': '--attach', '--training-file': 'write the files as arguments: svc train <files>', '--input-file': '--batch', '--text': '--prefill',
  },
  wandb: {
    'init': 'svc auth login', 'sync': 'svc call flush', 'offline': 'svc call run --spool', 'online': 'svc call flush', 'artifact': 'svc has no artifacts; run: svc --help',
    'verify': 'svc doctor --probe', 'launch': 'svc train', 'sweep': 'svc train', 'agent': 'svc mcp', 'server': 'svc serve', 'dashboard': 'svc serve', 'ui': 'svc serve',
    '--project': '--project-id', '--entity': '--project-id', '--run-id': '--call-id', '--host': '--base-url', '--mode': '--local', '--cloud': '--base-url', '--relogin': 'svc auth login', '--anonymously': '--no-token',
  },
  langfuse: {
    'traces': 'svc log', 'trace': 'svc call run', 'observations': 'svc log', 'spans': 'svc call import', 'score': 'svc feedback replace', 'scores': 'svc feedback schema', 'prompts': 'svc chat',
    'datasets': 'svc chat --rows <file> "Classify: {{text}}"', 'health': 'svc doctor', 'ingest': 'svc call import', 'import': 'svc call import', 'rate': 'svc feedback replace', 'eval': 'svc batch report', 'test': 'svc doctor --probe', 'ping': 'svc doctor',
    '--trace-id': '--call-id', '--observation-id': '--call-id', '--name': '--feedback-type', '--value': '--score', '--comment': '--note', 'feedback list': 'svc feedback schema, which shows the fields of payloads', 'feedback get': 'svc feedback schema, which shows the fields of payloads', 'feedback delete': 'svc cannot delete feedback; to replace it, run: svc feedback replace --help', 'call end': CALLS, 'call finish': CALLS, 'call stop': CALLS, 'call update': CALLS, 'call list': CALLS, 'call get': CALLS, '--public-key': '--username', '--secret-key': USER, '--from-timestamp': '--since', '--until': '--end', '--to': '--end', '--to-timestamp': '--end', '--from': '--since',
  },
  terminal: {
    'man': 'svc help', 'docs': 'svc help', 'doc': 'svc help', 'settings': 'svc doctor', 'env': 'svc help environment', 'set': 'svc profile set <name> --model <model>', 'use': 'svc profile use <name>', 'switch': 'svc profile use <name>', 'whoami': 'svc auth status', 'start': 'svc serve', 'stop': 'Ctrl-C ends svc serve',
    'check': 'svc doctor', 'debug': 'svc doctor', 'update': 'run: npm install -g svc-cli', 'upgrade': 'run: npm install -g svc-cli', 'install': 'run: npm install -g svc-cli', 'merge': 'svc batch merge', 'report': 'svc batch report', 'lint': 'svc train lint', 'validate': 'svc train lint', 'flush': 'svc call flush', 'schema': 'svc spec', 'openapi': 'svc spec --openapi', 'complete': 'svc completion bash', 'message': 'svc chat', 'send': 'svc chat', 'generate': 'svc chat',
    '--debug': '--verbose', '--verbosity': '--verbose', '--loglevel': '--verbose', '--log-level': '--verbose', '--yes-to-all': '--yes', '--assume-yes': '--yes', '--non-interactive': '--no-input', '--batch-mode': '--no-input', '--out': '--output', '--outfile': '--output', '--output-file': '--output', '--save': '--output', '--workers': '--concurrency', '--jobs': '--concurrency', '-j': '--concurrency', '--threads': '--concurrency', '-c': '--concurrency', '--max-retries': '--retries', '--rps': '--rate', '--qps': '--rate', '--dryrun': '--dry-run', '--simulate': '--dry-run', '--plain': '--no-color', '--monochrome': '--no-color', '--config': 'set SVC_CONFIG_DIR, or write --profile <name>', '--configuration': 'set SVC_CONFIG_DIR, or write --profile <name>', '--env': '--profile', '--continue-on-error': '--max-failures', '--restart': '--resume', '--csv': '--rows', '--prompts': '--batch', '--questions': '--rows', '--regex': '--expect-text', '--assert': '--expect-text', '--expect': '--expect-text', '--cost': '--stats', '--tokens': '--max-completion-tokens', '--length': '--max-completion-tokens', '--creativity': '--temperature', '--prefix': '--prefill', '--sys': '--system', '--system-prompt': '--system', '--persona': '--system', '--background': '--documents', '--listen': '--port', '--bind': '--port', '--address': '--port', '--database': '--data', '--db': '--data', '--browser': '--open', '--tag': '--feedback-type', '--rating': '--score', '--sort': '--ordered',
    '--format=yml': 'yaml', '--format=ndjson': 'jsonl', '--format=jsonlines': 'jsonl', '--format=pretty': 'text', '--format=plain': 'text', '--format=human': 'text', '--format=raw': 'json', '--format=markdown': 'text', '--color=true': 'always', '--color=yes': 'always', '--color=on': 'always', '--color=false': 'never', '--color=no': 'never', '--color=off': 'never', '--color=none': 'never', '--history=true': 'on', '--history=yes': 'on', '--history=1': 'on', '--history=false': 'off', '--history=no': 'off', '--history=all': 'bodies', '--history=full': 'bodies', '--error-format=plain': 'text', '--error-format=ndjson': 'json', '--error-format=jsonl': 'json',
    'train --data': 'write the files as arguments: svc train <files>', 'train --dataset': 'write the files as arguments: svc train <files>', 'train --input': 'write the files as arguments: svc train <files>', 'train --trajectories': 'write the files as arguments: svc train <files>', 'train --base-model': '--model-id', 'train --model': '--model-id', 'auth login --password': USER, 'chat --prompt': 'write the prompt as an argument: svc chat "<prompt>"', 'chat --question': 'write the prompt as an argument: svc chat "<prompt>"', 'chat --text': 'write the prompt as an argument: svc chat "<prompt>"', 'chat --input': 'write --file <file> for a body, --batch <file> for many, or the prompt as an argument', 'batch merge --file': '--input', 'log --follow': 'svc does not follow its history; run: svc log --limit 10', 'log -f': 'svc does not follow its history; run: svc log --limit 10', 'serve -p': '--port', 'serve --daemon': BACKGROUND, 'serve --detach': BACKGROUND, 'serve -d': BACKGROUND, 'serve stop': 'Ctrl-C ends svc serve', 'serve --host': 'the local service listens on 127.0.0.1 only; write --port <n>', 'serve --tls': 'the local service speaks http on 127.0.0.1 only',
    'mcp --transport': STDIO, 'mcp --stdio': STDIO, 'mcp --port': STDIO, 'mcp --host': STDIO, 'mcp install': 'svc mcp --print claude', 'mcp add': 'svc mcp --print claude', 'mcp start': 'svc mcp', 'doctor --fix': 'leave it out: this command only reports', 'profile create': SET, 'profile add': SET, 'profile new': SET, 'profile edit': SET, 'profile update': SET, 'log ls': 'svc log', 'log list': 'svc log', 'completions bash': 'svc completion bash', 'completions zsh': 'svc completion zsh', 'profile rename': 'svc cannot rename a profile; create the new one, and then run: svc profile remove <name>', 'call flush --all': 'leave it out: svc sends all spooled calls', 'call run -c': 'svc call run -- sh -c "<command>"', 'train lint --fix': 'leave it out: this command only reports', 'log --last': '--limit', 'log --tail': '--limit', 'log -n': '--limit', 'log --since': 'svc log --limit 10, or svc log prune --older-than 30d',
  },
};

/** The words of other tools for a command, by the last word of its name. */
// biome-ignore format: several words per line
export const verbs: Synonyms = {
  list: 'ls all', show: 'view get describe cat info display', remove: 'delete rm del unset destroy',
  use: 'switch select activate default', clear: 'delete rm reset', merge: 'join combine concat cat', report: 'summary stats show summarize',
  lint: 'check validate verify', flush: 'sync send push retry', import: 'load ingest add', replace: 'create add update put set edit new send',
  schema: 'describe show discover fields', log: 'history jobs', start: 'create begin new open log', run: 'exec wrap trace', status: 'show whoami check',
};

/** What other tools' word means in svc; undefined if none has it. */
export function otherToolsHint(word: string): string | undefined {
  return Object.values(otherTools).find((synonyms) => Object.hasOwn(synonyms, word))?.[word];
}
