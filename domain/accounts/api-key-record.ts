import { z } from 'zod';
import { Instant } from '../base/moment.ts';
import { Id } from '../base/ids.ts';
import { normalizeIpRange } from '../base/ip-range.ts';
import { KEY_SCOPES, KeyScope } from './key-scope.ts';
import { Mode } from '../test-mode/test-mode.ts';
import { oneLine } from '../base/text.ts';

/** A key as lists return it; the key itself is returned once, when it is created. */
export const ApiKeyRecord = z
  .object({
    _id: Id,
    name: z.string(),
    prefix: z.string(),
    last4: z.string(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
    expiresAt: z.iso.datetime().nullable(),
    revokedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export const WorkspaceKeyRecord = ApiKeyRecord.extend({
  scopes: z.array(KeyScope),
  allowedIps: z.array(z.string()).nullable().meta({
    description: 'The networks from which the key may be used, as CIDR; null: any.',
  }),
  mode: Mode,
}).meta({ id: 'WorkspaceKey' });
export type WorkspaceKeyRecord = z.infer<typeof WorkspaceKeyRecord>;

const ExpiresInDays = z.int().min(1).max(3650);

const shape = {
  name: z.string().trim().min(1).max(100).overwrite(oneLine),
  expiresAt: Instant.nullable().optional(),
  expiresInDays: ExpiresInDays.nullable().optional().meta({ description: 'Instead of `expiresAt`.' }),
};

interface Expiry {
  expiresAt?: string | null | undefined;
  expiresInDays?: number | null | undefined;
}

const hasOneExpiry = ({ expiresAt, expiresInDays }: Expiry): boolean => !expiresAt || !expiresInDays;
const TWO_EXPIRIES = { path: ['expiresInDays'], message: 'must not be given together with expiresAt' };

export const ApiKeyInput = z.object(shape).refine(hasOneExpiry, TWO_EXPIRIES).meta({ id: 'ApiKeyInput' });

const MAX_RANGES = 50;

const IpRange = z
  .string()
  .max(60)
  .transform((text, context) => {
    const range = normalizeIpRange(text);
    if (range !== null) return range;
    context.addIssue({
      code: 'custom',
      message: 'must be an IP address or a network such as 203.0.113.0/24',
    });
    return z.NEVER;
  });

export const WorkspaceKeyInput = z
  .object({
    ...shape,
    scopes: z
      .array(KeyScope)
      .min(1)
      .transform((given) => KEY_SCOPES.filter((scope) => given.includes(scope)))
      .default([...KEY_SCOPES])
      .meta({ description: 'Default: all.' }),
    allowedIps: z
      .array(IpRange)
      .min(1)
      .max(MAX_RANGES)
      .transform((ranges) => [...new Set(ranges)])
      .nullable()
      .default(null)
      .meta({
        description: 'IPv4 and IPv6 networks (CIDR) or addresses that may use the key. Default: any.',
      }),
    mode: Mode.default('live').meta({
      description: '`test`: the key acts in the twin of the workspace, from which nothing reaches anybody.',
    }),
  })
  .refine(hasOneExpiry, TWO_EXPIRIES)
  .meta({ id: 'WorkspaceKeyInput' });

const MAX_OVERLAP_HOURS = 168;

export const RollKeyInput = z
  .object({
    overlapHours: z.number().min(0).max(MAX_OVERLAP_HOURS).default(24).meta({
      description: 'How long the old key still works. Default: 24 hours.',
    }),
  })
  .meta({ id: 'RollKeyInput' });

const DAY_MS = 86_400_000;

/** When a new key expires; null: never. */
export function keyExpiry({ expiresAt, expiresInDays }: Expiry, now: Date): Date | null {
  if (expiresAt) return new Date(expiresAt);
  return expiresInDays ? new Date(now.getTime() + expiresInDays * DAY_MS) : null;
}

/** When the successor of a key expires: it is valid for as long as the old one was made for. */
export const rolledExpiry = (old: { createdAt: Date; expiresAt: Date | null }, now: Date): Date | null =>
  old.expiresAt && new Date(now.getTime() + old.expiresAt.getTime() - old.createdAt.getTime());
