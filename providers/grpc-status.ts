import { status } from '@grpc/grpc-js';
import { isGrpcServiceError } from '@temporalio/client';

const hasStatus =
  (code: status) =>
  (error: unknown): boolean =>
    isGrpcServiceError(error) && error.code === code;

export const isNotFound = hasStatus(status.NOT_FOUND);
export const isFailedPrecondition = hasStatus(status.FAILED_PRECONDITION);
/** The request is invalid, for example a signal that exceeds the limit of a run. */
export const isInvalidArgument = hasStatus(status.INVALID_ARGUMENT);
