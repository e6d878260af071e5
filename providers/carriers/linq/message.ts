import { z } from 'zod';
import { readable, readableOf } from '#domain/base/bounded-schema.ts';
import { type CarrierEvent, MAX_FILES } from '#domain/lines/carrier-event.ts';
import { travelledBy } from '../travelled-by.ts';

const Part = z.object({
  type: readable(z.string()),
  value: readable(z.string()),
  /** What an app shows on phones without it. */
  fallback_text: readable(z.string()),
  url: readable(z.string()),
  filename: readable(z.string()),
  mime_type: readable(z.string()),
});
export const Parts = readableOf(Part, MAX_FILES);

export const textOf = (parts: z.infer<typeof Parts> | null | undefined): string =>
  (parts ?? [])
    .flatMap(({ type, value, fallback_text: fallback }) => (type === 'media' ? [] : value || fallback || []))
    .join('\n');

/** The ids of the same events in webhooks. */
export function reportsOf(
  { id, service }: { id: string; service?: string | null | undefined },
  status: string,
  at: Date,
): CarrierEvent[] {
  const about = { carrierMessageId: id, at, ...travelledBy(service) };
  const delivered = { kind: 'receipt', ...about, eventId: `${id}:delivered`, status: 'delivered' } as const;
  if (status === 'delivered') return [delivered];
  return status === 'read' ? [delivered, { kind: 'read', ...about, eventId: `${id}:read` }] : [];
}
