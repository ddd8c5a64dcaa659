import { describe, expect, it } from 'vitest';
import { uuidV5, uuidV7 } from '../../src/fields/uuid.ts';

describe('UUIDs', () => {
  it('of version 5 are those of RFC 9562 and of other implementations', () => {
    const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
    expect(uuidV5(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
    expect(uuidV5(dns, 'python.org')).toBe('886313e1-3b8a-5372-9b90-0c9aee199e5d');
    expect(uuidV5(dns, 'übermäßig 🎉')).toBe('56518ef0-d413-5324-b430-dbeff1363c4a');
  });

  it('of version 7 begin with their time', () => {
    expect(
      uuidV7(0x017f22e279b0, new Uint8Array([0xcc, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f])),
    ).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
