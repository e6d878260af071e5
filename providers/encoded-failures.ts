import { DefaultFailureConverter } from '@temporalio/common';

/** Loaded by path, in processes and in the workflow bundle: see `payload-codec.ts`. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
