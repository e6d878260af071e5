import { ApiError } from '#api/http/errors.ts';

/** For an assignment by turn. */
export const nobodyAvailable = (): ApiError => new ApiError('INVALID_STATE', 'Every member is away');
