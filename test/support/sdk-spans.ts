import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { countingServer } from './counting-server.ts';
import { waitForExit } from './process.ts';

const peers = new URL('../peers/', import.meta.url).pathname;

/** Without the OpenTelemetry SDK its tests are skipped, with a printed reason. */
export const isSdkMissing = !existsSync(`${peers}node_modules/@opentelemetry/exporter-trace-otlp-http`);
if (isSdkMissing) process.stderr.write('skipped: spans of an SDK: run npm ci --prefix test/peers\n');

/** The bodies that the exporter of the JavaScript SDK sends, and what its program prints: a line of JSON per span. */
export async function exportSpans(): Promise<{ readonly bodies: readonly string[]; readonly stdout: string }> {
  const bodies: string[] = [];
  const receiver = await countingServer(String, ({ text }, response) => {
    bodies.push(text);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  const child = spawn(process.execPath, [`${peers}spans.js`, `${receiver.url}/v1/traces`]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const { code, stdout, stderr } = await waitForExit(child);
  expect(code, stderr).toBe(0);
  return { bodies, stdout };
}
