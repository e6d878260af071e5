import { UrlNotAllowed } from '#providers/egress-guard.ts';
import { ApiError } from './errors.ts';

/**
 * Waits for the check of an address that a tenant gave in the field `path`.
 * @throws URL_NOT_ALLOWED
 */
export async function allowedAddress(path: string, check: Promise<void>): Promise<void> {
  try {
    await check;
  } catch (error) {
    if (!(error instanceof UrlNotAllowed)) throw error;
    throw new ApiError('URL_NOT_ALLOWED', `${path}: ${error.message}`, {
      issues: [{ path, message: error.message }],
    });
  }
}
