import { Refusal } from '#domain/message-draft.ts';
import { ApiError } from './errors.ts';

/** A broken rule of the domain as the API tells it: its code, and the field it is about. */
export function refused(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  const issues = [{ path: error.field, message: error.message }];
  return new ApiError(error.code, `${error.field}: ${error.message}`, { issues });
}
