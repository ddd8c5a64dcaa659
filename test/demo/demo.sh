#!/usr/bin/env bash
# All five operations from end to end: the real program, the local service, and real files.
set -euo pipefail
cd "$(dirname "$0")"
svc() { node "${SVC_PROGRAM:-../../bin/svc.js}" "$@"; }

# The demo removes everything that it stores.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export SVC_CONFIG_DIR=$home/config SVC_DATA_DIR=$home/data
# Against the service of SVC_BASE_URL if it is set.
[ -n "${SVC_BASE_URL:-}" ] || export SVC_PROFILE=local

show() {
  printf '\n$ svc'
  for word in "$@"; do
    [[ $word == *[!A-Za-z0-9_./@-]* ]] && word="'$word'"
    printf ' %s' "$word"
  done
  printf '\n'
  svc "$@"
}

echo '1. Replace feedback, from a file'
show feedback replace -f feedback.json --format table
echo
echo '2. Discover the schema of that feedback'
show feedback schema --project-id acme/support-bot --since 1h --format table
echo
echo '3. Chat, from a file; then get a response that conforms to a schema'
show chat -f chat.json
show chat 'When does it arrive?' --no-stdin --quiet --json-schema @answer.schema.json
echo
echo '4. Train on a file of several trajectory groups'
show train groups.jsonl --model-id 0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05 --format table
echo
echo '5. Record the start of a traced call, from a pipe: 64-bit integers and times in nanoseconds keep every digit'
printf '\n$ svc call start < call.json\n'
svc call start < call.json
echo
echo 'Print the same request without sending it: svc adds time and ids at the end of start, and changes no other byte'
printf '\n$ svc call start --dry-run < call.json\n'
svc call start --dry-run < call.json
echo
echo 'Done: five operations; the data of the demo is removed.'
