import { describe, expect, it } from 'vitest';
import { writtenForms } from './contact.ts';

describe('writtenForms', () => {
  it('returns every address unchanged, and the national digits of numbers', () => {
    expect(writtenForms(['+4915123456789', 'ada@example.com'])).toEqual({
      plain: ['+4915123456789', 'ada@example.com'],
      digits: ['15123456789'],
    });
  });

  it('returns no digits for a text that is no phone number', () => {
    expect(writtenForms(['12345', 'acme']).digits).toEqual([]);
  });
});
