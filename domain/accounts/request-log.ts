import { z } from 'zod';
import { AuditActor } from './audit.ts';
import { Id } from '../base/ids.ts';

/** A request in the log of a workspace. */
export const LoggedRequest = z
  .object({
    _id: Id,
    at: z.iso.datetime().meta({ description: 'When the response began.' }),
    method: z.string(),
    path: z.string().meta({ description: 'The path template, without values: `/api/messages/{id}`.' }),
    status: z.int(),
    code: z.string().nullable().meta({ description: 'The code of the error.' }),
    requestId: z.string().meta({ description: '`X-Request-Id`.' }),
    actor: AuditActor.meta({ description: 'The key or the user.' }),
    durationMs: z.int(),
    count: z.int().meta({
      description:
        'More than 1: the number of requests to bulk intake that succeeded within seconds. `at` and `requestId` are from the first request, `durationMs` is from the slowest.',
    }),
  })
  .meta({ id: 'LoggedRequest' });
export type LoggedRequest = z.infer<typeof LoggedRequest>;
