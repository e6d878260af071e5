import { UrlNotAllowed } from '#providers/egress-guard.ts';
import { ApiError } from './errors.ts';

/**
 * Translates the result of checking the address in the field `path`.
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
