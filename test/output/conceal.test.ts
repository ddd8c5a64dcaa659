import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { concealer } from '../../src/output/conceal.ts';
import { failureJson, failureText } from '../../src/output/failure.ts';

describe('secrets', () => {
  it.each([
    ['as they are', 'pass-word', 'x pass-word y', 'x [hidden] y'],
    ['quoted as JSON', 'pa"ss\\word', 'x "pa\\"ss\\\\word" y', 'x "[hidden]" y'],
    ['with characters of patterns', 'a.*b$&', 'a.*b$& axxb', '[hidden] axxb'],
    ['of three characters are left', 'abc', 'abc', 'abc'],
  ])('%s are hidden', (_, secret, text, shown) => {
    expect(concealer([secret]).clean(text)).toBe(shown);
  });

  it('that hold each other are hidden whole, whatever their order', () => {
    const { add, clean } = concealer(['pass-word']);
    add(['pass-word-1']);
    expect(clean('pass-word-1 pass-word')).toBe('[hidden] [hidden]');
  });

  it('do not change the form of an error, and are hidden before it is cut', () => {
    const secret = 'message';
    const failure = new Failure('refused', `${'x'.repeat(897)}${secret}`, { requestId: secret, hint: secret });
    const { clean } = concealer([secret]);
    const { error } = JSON.parse(failureJson(failure, clean));
    expect(error).toMatchObject({ request_id: '[hidden]', hint: '[hidden]', exit_code: 5 });
    expect(error.message).toBe(`${'x'.repeat(897)}[hi…`);
    expect(failureText(failure, clean)).not.toContain('mes');
  });
});
