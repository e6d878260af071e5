import { z } from 'zod';
import { normalizePhone } from './phone.ts';

/** The form under which a contact is known everywhere: E.164 or a lower-case email address. */
export function normalizeEmail(text: string): string | null {
  const parsed = z.email().safeParse(text.trim().toLowerCase());
  return parsed.success ? parsed.data : null;
}

export function normalizeAddress(text: string, country: string): string | null {
  return text.includes('@') ? normalizeEmail(text) : normalizePhone(text, country);
}
