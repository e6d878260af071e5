import { type DripInput, CRM_FIELDS } from './message.ts';

/** The fields that are stored as they are, and checked without a lookup. */
const PLAIN: ReadonlySet<string> = new Set<keyof DripInput>([
  'message',
  'messageType',
  'recipientPhone',
  'recipientEmail',
  'recipientName',
  'subject',
  'voiceNote',
  'smsFallbackEnabled',
  'smsFallbackMessage',
  'correlationId',
  'traceId',
  'timezone',
  ...CRM_FIELDS,
]);

/** Whether a drip needs only a line that can carry it: it names no lead, line, pool or file, no window and no fallback. */
export function isPlainDrip(input: DripInput): boolean {
  for (const field in input) if (!PLAIN.has(field)) return false;
  return true;
}
