import { z } from 'zod';

/** Work that fails as often, or for a day, is set aside. */
export const FAILURES_TO_SET_ASIDE = 20;
/** From then on it is tried once an hour, because what it needs may only have been away, */
export const TRIED_EVERY_MS = 3_600_000;
/** but not for longer than this after its first failure. */
export const TRIED_FOR_MS = 24 * 3_600_000;

export const SetAside = z
  .object({
    id: z.string(),
    workspaceId: z.string(),
    workflowId: z.string().meta({ description: 'In Temporal.' }),
    activity: z.string(),
    subject: z.record(z.string(), z.unknown()).meta({ description: 'The ids of what it is about.' }),
    reason: z.string().meta({ description: "The last error. The worker's log has all of them." }),
    failures: z.int(),
    firstFailedAt: z.iso.datetime(),
    lastFailedAt: z.iso.datetime(),
    setAsideAt: z.iso.datetime(),
  })
  .meta({ id: 'SetAside' });
export type SetAside = z.infer<typeof SetAside>;

/** Whether work that is set aside may be tried once more. */
export function mayTry(
  { firstFailedAt, lastFailedAt }: { firstFailedAt: Date; lastFailedAt: Date },
  now: Date,
): boolean {
  const isLately = now.getTime() - firstFailedAt.getTime() < TRIED_FOR_MS;
  return isLately && now.getTime() - lastFailedAt.getTime() >= TRIED_EVERY_MS;
}

/** Numbers and addresses of people, which an error may quote. */
const PERSONAL = /[^\s"'<>@]+@[^\s"'<>]+|\+?\d[\d ()-]{6,}\d/g;
const MAX_REASON = 300;

/** An error as operators see it. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return withoutPersons(text.replaceAll('\0', '').toWellFormed());
}

export const withoutPersons = (reason: string): string =>
  reason.slice(0, 2000).replaceAll(PERSONAL, '…').slice(0, MAX_REASON);
