import { z } from 'zod';
import { normalizePhone } from './phone.ts';

const Email = z.email();

export function normalizeEmail(text: string): string | null {
  const parsed = Email.safeParse(text.trim().toLowerCase());
  return parsed.success ? parsed.data : null;
}

/** The canonical form of a contact's address: E.164 or a lower-case email address; null if it is neither. */
export function normalizeAddress(text: string, country: string): string | null {
  return text.includes('@') ? normalizeEmail(text) : normalizePhone(text, country);
}
