import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { authority, withoutOpenssl } from '../support/certificates.ts';
import { figure } from '../support/figure.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { bodyPieces, modelId, trajectoryText, writePieces } from '../support/trajectories.ts';
import { uploaded } from './large.ts';

const BYTES = 150_000_000;

describe('150 MB of trajectories pass in bounded memory', () => {
  it.each([
    ['of 85 KB, piped', ['-f', '-'], 1000],
    ['of 3.4 MB, piped', ['-f', '-'], 40_000],
  ])('%s', async (name, args, tokens) => {
    const { code, stderr, given, arrived, peak } = await uploaded(args, bodyPieces(BYTES, tokens));
    figure(`150 MB of trajectories ${name}: ${peak.toFixed(0)} MiB`);
    expect({ code, stderr, arrived }).toEqual({ code: 0, stderr: '', arrived: given });
    expect(peak).toBeLessThan(128);
  });

  it('of 2 KB in a file', async () => {
    const cwd = temporaryDirectory();
    const groups = `{"trajectories":[${trajectoryText(22)},${trajectoryText(23)}]}\n`.repeat(1000);
    const some = function* (): Generator<string> {
      for (let bytes = 0; bytes < BYTES; bytes += groups.length) yield groups;
    };
    writePieces(join(cwd, 'groups.jsonl'), some());
    const { code, arrived, peak } = await uploaded(['groups.jsonl', '--model-id', modelId], [], { cwd });
    figure(`150 MB of small trajectories in a file: ${peak.toFixed(0)} MiB`);
    expect(code).toBe(0);
    expect(arrived.bytes).toBeGreaterThan(BYTES);
    expect(peak).toBeLessThan(128);
  });

  it('of 8 KB in a file, scattered over a thousand groups', async () => {
    const cwd = temporaryDirectory();
    const texts = Array.from({ length: 1000 }, (_, task) => `${trajectoryText(90, `t${task}`)}\n`);
    const length = texts.join('').length;
    const some = function* (): Generator<string> {
      for (let bytes = 0; bytes < BYTES; bytes += length) yield texts.join('');
    };
    writePieces(join(cwd, 'runs.jsonl'), some());
    const args = ['runs.jsonl', '--group-by', 'metadata.task', '--model-id', modelId];
    const { code, arrived, peak } = await uploaded(args, [], { cwd });
    figure(`150 MB of trajectories in a file, grouped: ${peak.toFixed(0)} MiB`);
    expect(code).toBe(0);
    expect(arrived.bytes).toBeGreaterThan(BYTES);
    expect(peak).toBeLessThan(128);
  });
});

describe.skipIf(withoutOpenssl())('40 MB of trajectories arrive unchanged at a server that reads slowly', () => {
  it.each([
    ['piped, over TLS', ['-f', '-'], true],
    ['piped', ['-f', '-'], false],
  ])('%s', async (_, args, isSecure) => {
    const certificates = authority();
    const certificate = isSecure ? certificates.sign('localhost', 'IP:127.0.0.1') : undefined;
    const trust = isSecure ? ['--cacert', certificates.cert] : [];
    // Each piece differs from the others: bytes that are sent too late, or twice, change the digest.
    const pieces = function* (): Generator<string> {
      yield `{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[`;
      for (let index = 0; index < 1000; index += 1) yield `${index ? ',' : ''}${trajectoryText(450, `t${index}`)}`;
      yield ']}]}';
    };
    const receiver = { pauseMs: 25, ...(certificate && { certificate }) };
    const { code, given, arrived } = await uploaded([...args, ...trust], pieces(), receiver);
    expect({ code, arrived }).toEqual({ code: 0, arrived: given });
    expect(given.bytes).toBeGreaterThan(30_000_000);
  });
});
