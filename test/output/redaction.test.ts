import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { failureJson, failureText } from '../../src/output/failure-text.ts';
import { createRedactor } from '../../src/output/redaction.ts';

describe('secrets', () => {
  it.each([
    ['as they are', 'pass-word', 'x pass-word y', 'x [redacted] y'],
    ['quoted as JSON', 'pa"ss\\word', 'x "pa\\"ss\\\\word" y', 'x "[redacted]" y'],
    ['with characters of patterns', 'a.*b$&', 'a.*b$& axxb', '[redacted] axxb'],
    ['quoted twice', 'pa"ss', 'x pa\\\\\\"ss', 'x [redacted]'],
    ['with all but ASCII escaped', 'pässwörd', 'p\\u00e4ssw\\u00f6rd P', '[redacted] P'],
    ['as headers are read', 'pässwörd', 'pÃ¤sswÃ¶rd', '[redacted]'],
    [
      'in base64, but for what shares a character with others',
      'pass-word',
      `${btoa('pass-word')} ${btoa('a pass-word')}`,
      '[redacted] YSB[redacted]Q=',
    ],
    ['percent-encoded', 'a/b c', 'a%2Fb%20c', '[redacted]'],
    ['as a step of a path', 'a.b=c', 'body.a\\.b\\=c', 'body.[redacted]'],
    ['that are cut at the end', 'pass-word', 'x pass-w', 'x [redacted]'],
    ['of three characters are left', 'abc', 'abc', 'abc'],
  ])('%s are redacted', (_, secret, text, shown) => {
    expect(createRedactor([secret]).redact(text)).toBe(shown);
  });

  it('that contain each other are redacted completely, in any order', () => {
    const { addSecrets, redact } = createRedactor(['pass-word']);
    addSecrets(['pass-word-1']);
    expect(redact('pass-word-1 pass-word')).toBe('[redacted] [redacted]');
  });

  it('do not change the form of an error, and are redacted before it is cut', () => {
    const secret = 'message';
    const failure = new Failure('refused', `${'x'.repeat(897)}${secret}`, {
      received: { request_id: secret },
      hint: secret,
    });
    const { redact } = createRedactor([secret]);
    const { error } = JSON.parse(failureJson(failure, redact));
    expect(error).toMatchObject({ request_id: '[redacted]', hint: '[redacted]', exit_code: 5 });
    expect(error.message).toBe(`${'x'.repeat(897)}[re…`);
    expect(failureText(failure, redact)).not.toContain('mes');
  });
});
