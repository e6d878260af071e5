import { Refusal } from '#domain/message-draft.ts';
import { ApiError } from './errors.ts';

/** Translates a `Refusal` of the domain; other errors are returned unchanged. */
export function toApiError(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  const issues = [{ path: error.field, message: error.message }];
  return new ApiError(error.code, `${error.field}: ${error.message}`, { issues });
}
