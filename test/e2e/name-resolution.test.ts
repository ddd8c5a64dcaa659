import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLookup, requireLoopbackPeer } from '../../src/http/open-socket.ts';

const program = new URL('../../bin/svc.js', import.meta.url).pathname;
const isIsolated = spawnSync('unshare', ['-rmn', 'mount', '--bind', '/etc/hosts', '/etc/resolv.conf']).status === 0;
const address = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

/** Runs a script of bash with files of its own in the place of those in /etc. */
function inNamespace(flags: string, files: Readonly<Record<string, string>>, script: string) {
  const home = mkdtempSync(join(tmpdir(), 'svc-names-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const mounts = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(home, name), text);
    return `mount --bind ${home}/${name} /etc/${name}`;
  });
  const env = { PATH: process.env.PATH, HOME: home, SVC_TOKEN: 'tok-en-1', SVC_CONFIG_DIR: home };
  return spawnSync('unshare', [flags, 'bash', '-c', [...mounts, script].join('\n')], { env, encoding: 'utf8' });
}

const silentServer = `node -e "require('dgram').createSocket('udp4').bind(53, '127.0.0.1', () => console.log('ready'))" > ready & server=$!
until grep -q ready ready; do :; done`;
const chat = `${process.execPath} ${program} chat hi -m m --no-stdin --retries 0`;

describe('name resolution', () => {
  it('has the same result as the system', async () => {
    const resolve = async (name: string, signal = new AbortController().signal) => {
      const lookup = await createLookup(signal);
      return new Promise<unknown>((done) =>
        lookup(name, { all: true }, (error, found) => done(error?.message ?? found)),
      );
    };
    expect(await resolve('localhost')).toContainEqual(expect.objectContaining({ family: expect.any(Number) }));
    expect(await resolve(hostname())).toContainEqual({ address: expect.any(String), family: expect.any(Number) });
    expect(await resolve('name.invalid')).toMatch(/ENOTFOUND|EAI_AGAIN/);
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    expect(await resolve(hostname(), controller.signal)).toBe('enough');
  });

  it.skipIf(!isIsolated)('of a DNS server that drops packets ends with the time limit and with a signal', () => {
    const files = { 'resolv.conf': 'nameserver 127.0.0.1\n', 'nsswitch.conf': 'hosts: files dns\n' };
    const script = `cd "$HOME"; ip link set lo up; ${silentServer}
      SECONDS=0; ${chat} --base-url https://api.example.com --timeout 1; echo "code $?"
      ${chat} --base-url https://api.example.com & svc=$!
      sleep 1; kill -INT $svc; wait $svc; echo "code $?"; [ $SECONDS -lt 8 ] && echo early
      kill $server`;
    const { stdout, stderr } = inNamespace('-rmn', files, script);
    expect(stderr).toContain('svc: could not connect to https://api.example.com: the time limit of 1 s was reached\n');
    expect(stdout).toBe('code 7\ncode 130\nearly\n');
  });
});

// Its queue of connections is full until a further one is attempted, which succeeds after a second.
const busyServer = `const { createServer } = require('http'); const { readFileSync, writeFileSync } = require('fs');
const body = '{"id":"c","model":"m","usage":{},"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}';
createServer((incoming, response) => incoming.resume() && response.end(body)).listen({ port: 8080, host: '127.0.0.2', backlog: 1 }, () => {
  writeFileSync('ready', '');
  while (!/ 0200007F:1F90 02 /.test(readFileSync('/proc/net/tcp', 'latin1')));
});`;

describe('a name with several addresses', () => {
  it.skipIf(!isIsolated)('is reached at the first one, also if that takes a second to accept', () => {
    const files = { hosts: '127.0.0.2 far.test\n127.0.0.3 far.test\n', 'nsswitch.conf': 'hosts: files\n' };
    const script = `cd "$HOME"; ip link set lo up
      cat > server.cjs <<'END'\n${busyServer}\nEND
      ${process.execPath} server.cjs & server=$!; until [ -e ready ]; do :; done
      exec 3<>/dev/tcp/127.0.0.2/8080 4<>/dev/tcp/127.0.0.2/8080
      ${chat} --allow-http --base-url http://far.test:8080; echo "code $?"; kill $server`;
    expect(inNamespace('-rmn', files, script).stdout).toBe('hello\ncode 0\n');
  });
});

describe('plain http with credentials', () => {
  it.each([
    ['http://localhost', '127.0.0.1', false],
    ['http://localhost', '::1', false],
    ['http://localhost', '::ffff:127.0.0.2', false],
    ['https://localhost', '192.0.2.2', false],
    ['http://localhost', '192.0.2.2', true],
    ['http://a.localhost', '2001:db8::1', true],
    ['http://localhost', undefined, true],
  ])('%s at %s: refused %s', (url, remoteAddress, isRefused) => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
    onTestFinished(() => void socket.destroy());
    const check = (): void => requireLoopbackPeer(new URL(url), socket);
    if (isRefused) expect(check).toThrow(remoteAddress ? /not to loopback/ : /closed the connection before/);
    else check();
    expect(socket.destroyed).toBe(isRefused);
  });

  it.skipIf(!isIsolated || !address)('is refused where localhost is another machine, and nothing is sent', () => {
    const server = `node -e "require('net').createServer((s) => s.on('data', (d) => console.log('got', d.length)).on('error', () => {})).listen(0, function () { console.log('port', this.address().port) })" > out & server=$!
      until grep -q port out; do :; done; port=$(sed -n 's/^port //p' out)`;
    const script = `cd "$HOME"; ${server}
      ${chat} --base-url http://localhost:$port; echo "code $?"; grep got out; kill $server`;
    const { stdout, stderr } = inNamespace('-rm', { hosts: `${address} localhost\n` }, script);
    expect(stderr).toContain(`is plain http, and localhost resolves to ${address}, not to loopback\n`);
    expect(stdout).toBe('code 13\n');
  });
});
