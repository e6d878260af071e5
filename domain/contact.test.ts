import { describe, expect, it } from 'vitest';
import { writtenForms } from './contact.ts';

describe('writtenForms', () => {
  it('finds a number by its national digits, and an email as it is', () => {
    expect(writtenForms(['+4915123456789', 'ada@example.com'])).toEqual({
      plain: ['+4915123456789', 'ada@example.com'],
      digits: ['15123456789'],
    });
  });

  it('takes no digits of what is not a phone number', () => {
    expect(writtenForms(['12345', 'acme']).digits).toEqual([]);
  });
});
