interface Synonyms {
  readonly [word: string]: string;
}

const VERIFY = 'svc always verifies certificates; to trust another CA, write --cacert <file>';
const MODELS = 'svc does not list models; name one with svc chat -m <model>';
const SECRET = 'svc takes no secret as an argument; run: svc auth login --token-stdin, or set SVC_TOKEN';
const USER = 'svc takes no secret as an argument; run: svc auth login --password-stdin --username <name>';
const POST = 'leave it out: each operation of svc is a POST';
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
    '--limit-rate': '--rate', '--write-out': '--stats', '-w': '--stats', '--fail-early': '--fail-fast', '--libcurl': '--curl',
  },
  HTTPie: {
    '--verify': VERIFY, '--raw': '--file', '--body': '--quiet', '-p': '--verbose', '--print': '--verbose',
    '--headers': '--header', '--pretty': '--format', '--style': '--color', '--offline': '--dry-run', '--follow': REDIRECT,
    '--download': '--output', '--auth': SECRET, '-a': SECRET, '--auth-type': 'run: svc profile set <name> --trace-auth bearer',
    '--session': '--conversation', '--check-status': 'svc exits with a code for each kind of failure; run: svc help exit-codes',
    '--max-redirects': REDIRECT, '--stream-output': '--stream', 'http': 'svc chat', 'post': 'svc chat',
  },
  gh: {
    'login': 'svc auth login', 'logout': 'svc auth logout', 'status': 'svc auth status, or svc doctor', 'api': 'svc chat, or svc spec',
    'alias': 'svc has no aliases; define one in your shell', 'browse': 'svc serve', 'run': 'svc call run', 'auth refresh': 'svc auth login',
    'auth token': 'svc shows no secrets; run: svc auth status', 'auth switch': 'svc profile use <name>', 'auth setup': 'svc auth login',
    '--with-token': '--token-stdin', '--hostname': '--base-url', '--field': '--set', '--raw-field': '--set',
    '--template': '--jq', '-t': '--jq', '--web': 'svc serve', '--paginate': 'leave it out: each response of svc is whole',
    '--body-file': '--file', '--repo': '--project-id', '-R': '--project-id', '--jq-filter': '--jq', '--state': '--jq',
  },
  aws: {
    'configure': 'svc auth login, or svc profile set <name> --base-url <url>', 'configure list': 'svc profile show', '--cli-input-json': '--file',
    '--generate-cli-skeleton': 'svc spec <operation> --skeleton', '--endpoint-url': '--base-url', '--endpoint': '--base-url',
    '--query': '--jq', '--no-verify-ssl': VERIFY, '--region': '--base-url', '--cli-read-timeout': '--timeout',
    '--no-paginate': 'leave it out: each response of svc is whole', '--no-cli-pager': 'set PAGER to an empty text', '--output-format': '--format',
    '--output=table': '--format table', '--output=text': '--format text', '--ca-cert': '--cacert', 'sts': 'svc auth status', 's3': 'svc has no such command; run: svc --help',
  },
  kubectl: {
    'get': 'svc log, svc train log, or svc profile list', 'list': 'svc log, svc train log, or svc profile list',
    'describe': 'svc log show <n>, or svc profile show', 'apply': 'svc feedback replace', 'create': 'svc feedback replace, or svc call start',
    'delete': 'svc profile remove <name>, or svc log clear', 'logs': 'svc log', 'explain': 'svc spec', 'config': 'svc profile show, or svc profile set <name> --base-url <url>',
    'config get-contexts': 'svc profile list', 'config use-context': 'svc profile use <name>', 'cluster-info': 'svc doctor', 'exec': 'svc call run',
    'version': 'svc --version', 'context': 'svc profile use <name>', 'diff': 'svc batch report before.jsonl after.jsonl --compare',
    '--context': '--profile', '--filename': '--file', '--namespace': '--project-id', '--kubeconfig': 'set SVC_CONFIG_DIR',
    '--server': '--base-url', '--certificate-authority': '--cacert', '--insecure-skip-tls-verify': VERIFY, '--request-timeout': '--timeout',
    '--token': SECRET, '--dry-run=client': '--dry-run', '--wide': '--format table', '--watch': '--stream', '--force': '--yes',
  },
  llm: {
    'prompt': 'svc chat', 'keys': 'svc auth login', 'keys set': 'svc auth login', 'models': MODELS, 'models list': MODELS,
    'models default': 'svc profile set <name> --model <model>', 'history': 'svc log', 'schemas': 'svc spec', 'logs list': 'svc log', 'plugins': 'svc has no plugins; run: svc --help',
    'collections': 'svc has no embeddings; run: svc --help', 'embed': 'svc has no embeddings; run: svc --help', 'similar': 'svc has no embeddings; run: svc --help', 'templates': 'svc profile set <name> --model <model>',
    '--option': '--set', '--key': '--token-env', '--schema': '--json-schema', '--fragment': '--attach', '--attachment': '--attach',
    '--at': '--attach', '--no-log': 'set SVC_HISTORY=off', '--conversation-id': '--continue', '--cid': '--continue', '--tool': '--tools', '--usage': '--stats',
  },
  aichat: {
    'ask': 'svc chat', 'repl': 'svc chat', 'session': 'svc chat', 'sessions': 'svc log', 'info': 'svc doctor', '--role': '--system', '--rag': '--documents', '--list-models': MODELS,
    '--list-sessions': 'svc log', '--info': 'svc doctor', '--serve': 'svc serve', '--code': '--extract code', '--instruction': '--system',
    '--execute': 'svc call run', '--file-input': '--attach', '--session-name': '--conversation', '--macro': '--rows',
  },
  openai: {
    'chats': 'svc chat', 'completions': 'svc chat', 'completion': 'svc chat', 'responses': 'svc chat', 'api chat': 'svc chat', 'chat.completions': 'svc chat',
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
    '--trace-id': '--call-id', '--observation-id': '--call-id', '--name': '--feedback-type', '--value': '--score', '--comment': '--note', '--public-key': '--username', '--secret-key': USER, '--from-timestamp': '--since', '--until': '--end', '--to': '--end', '--to-timestamp': '--end', '--from': '--since',
  },
  terminal: {
    'man': 'svc help', 'docs': 'svc help', 'doc': 'svc help', 'settings': 'svc doctor', 'env': 'svc help environment', 'set': 'svc profile set <name> --model <model>', 'use': 'svc profile use <name>', 'switch': 'svc profile use <name>', 'whoami': 'svc auth status', 'start': 'svc serve', 'stop': 'Ctrl-C ends svc serve',
    'check': 'svc doctor', 'debug': 'svc doctor', 'update': 'run: npm install -g svc-cli', 'upgrade': 'run: npm install -g svc-cli', 'install': 'run: npm install -g svc-cli', 'merge': 'svc batch merge', 'report': 'svc batch report', 'lint': 'svc train lint', 'validate': 'svc train lint', 'flush': 'svc call flush', 'schema': 'svc spec', 'openapi': 'svc spec --openapi', 'complete': 'svc completion bash', 'message': 'svc chat', 'send': 'svc chat', 'generate': 'svc chat',
    '--debug': '--verbose', '--verbosity': '--verbose', '--loglevel': '--verbose', '--log-level': '--verbose', '--yes-to-all': '--yes', '--assume-yes': '--yes', '--non-interactive': '--no-input', '--batch-mode': '--no-input', '--out': '--output', '--outfile': '--output', '--output-file': '--output', '--save': '--output', '--workers': '--concurrency', '--jobs': '--concurrency', '-j': '--concurrency', '--threads': '--concurrency', '-c': '--concurrency', '--max-retries': '--retries', '--rps': '--rate', '--qps': '--rate', '--dryrun': '--dry-run', '--simulate': '--dry-run', '--plain': '--no-color', '--monochrome': '--no-color', '--config': 'set SVC_CONFIG_DIR, or write --profile <name>', '--configuration': 'set SVC_CONFIG_DIR, or write --profile <name>', '--env': '--profile', '--continue-on-error': '--max-failures', '--restart': '--resume', '--csv': '--rows', '--prompts': '--batch', '--questions': '--rows', '--regex': '--expect-text', '--assert': '--expect-text', '--expect': '--expect-text', '--cost': '--stats', '--tokens': '--max-completion-tokens', '--length': '--max-completion-tokens', '--creativity': '--temperature', '--prefix': '--prefill', '--sys': '--system', '--system-prompt': '--system', '--persona': '--system', '--background': '--documents', '--listen': '--port', '--bind': '--port', '--address': '--port', '--database': '--data', '--db': '--data', '--browser': '--open', '--tag': '--feedback-type', '--rating': '--score', '--sort': '--ordered',
    '--format=yml': 'yaml', '--format=ndjson': 'jsonl', '--format=jsonlines': 'jsonl', '--format=pretty': 'text', '--format=plain': 'text', '--format=human': 'text', '--format=raw': 'json', '--format=markdown': 'text', '--color=true': 'always', '--color=yes': 'always', '--color=on': 'always', '--color=false': 'never', '--color=no': 'never', '--color=off': 'never', '--color=none': 'never', '--history=true': 'on', '--history=yes': 'on', '--history=1': 'on', '--history=false': 'off', '--history=no': 'off', '--history=all': 'bodies', '--history=full': 'bodies', '--error-format=plain': 'text', '--error-format=ndjson': 'json', '--error-format=jsonl': 'json',
    'train --data': 'write the files as arguments: svc train <files>', 'train --dataset': 'write the files as arguments: svc train <files>', 'train --input': 'write the files as arguments: svc train <files>', 'train --trajectories': 'write the files as arguments: svc train <files>', 'train --base-model': '--model-id', 'train --model': '--model-id', 'auth login --password': USER, 'chat --prompt': 'write the prompt as an argument: svc chat "<prompt>"', 'chat --question': 'write the prompt as an argument: svc chat "<prompt>"', 'chat --text': 'write the prompt as an argument: svc chat "<prompt>"', 'chat --input': 'write --file <file> for a body, --batch <file> for many, or the prompt as an argument', 'batch merge --file': '--input', 'log --follow': 'svc does not follow its history; run: svc log --limit 10', 'log --last': '--limit', 'log --tail': '--limit', 'log -n': '--limit', 'log --since': 'svc log --limit 10, or svc log prune --older-than 30d',
  },
};

/** What other tools' word means in svc; undefined if none has it. */
export function otherToolsHint(word: string): string | undefined {
  return Object.values(otherTools).find((synonyms) => Object.hasOwn(synonyms, word))?.[word];
}
