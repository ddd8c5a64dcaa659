import { describe, expect, it } from 'vitest';
import { linkSignal } from '../../src/http/message.ts';

describe('a linked signal', () => {
  it('is aborted by the outer signal with its reason, and only once', () => {
    const outer = new AbortController();
    const { signal, abort } = linkSignal(outer.signal);
    const reasons: unknown[] = [];
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    const removed = (): void => void reasons.push('removed');
    signal.addEventListener('abort', removed);
    signal.removeEventListener('abort', removed);
    signal.throwIfAborted();
    outer.abort('outer');
    abort('inner');
    expect(reasons).toEqual(['outer']);
    expect(signal.aborted).toBe(true);
    expect(() => signal.throwIfAborted()).toThrow('outer');
  });

  it('leaves the outer signal alone, and is not aborted by it once released', () => {
    const outer = linkSignal(undefined);
    const first = linkSignal(outer.signal);
    first.abort('own');
    expect([outer.signal.aborted, first.signal.reason]).toEqual([false, 'own']);
    const second = linkSignal(outer.signal);
    second.release();
    outer.abort('late');
    expect(second.signal.aborted).toBe(false);
  });

  it('of an aborted signal is aborted from the start', () => {
    expect(linkSignal(AbortSignal.abort('before')).signal).toMatchObject({ aborted: true, reason: 'before' });
  });
});
