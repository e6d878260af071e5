import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DripAcknowledgement } from '#domain/messages/drip.ts';
import { DripInput, MAX_NAME_LENGTH } from '#domain/messages/message.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import { type QuietUntil, Warnings, warningsOf } from '#domain/messages/warnings.ts';
import { readsCustomFields } from '#domain/messages/template-fields.ts';
import { MAX_KEY_LENGTH, requestHash } from '#api/http/idempotency.ts';
import { requireHeaderLength } from '#api/http/parse.ts';
import { INTAKE } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

/** Warnings come from the body, the names of custom fields, and quiet hours. Intake does not look up whether the contact is new or has answered. */
const Acknowledgement = DripAcknowledgement.extend({ warnings: Warnings });

export const dripRoutes = [
  workspaceRoute({
    id: 'drip',
    method: 'POST',
    path: '/api/drip',
    tag: 'Messages',
    needsSubscription: true,
    transaction: false,
    summary: 'Bulk intake: queue a message, to be sent when its line permits',
    description:
      'Accepts bursts without a rate limit (the backstop is 1,000 per second sustained and 10,000 at once per workspace; each 4 KB of a body count as one request). The message is scheduled in 30 seconds plus a jitter of up to 5 minutes. Requests with the same recipient and body within 60 minutes are one message. With an `Idempotency-Key`, a repeated request gets `200` and the first acknowledgement.',
    limit: INTAKE,
    body: DripInput,
    headers: z.object({
      'Idempotency-Key': z.string().max(MAX_KEY_LENGTH).optional(),
      'X-Correlation-Id': z
        .string()
        .max(MAX_NAME_LENGTH)
        .optional()
        .meta({ description: 'Takes precedence over `correlationId` in the body.' }),
    }),
    responses: { 202: Acknowledgement, 200: Acknowledgement },
    errors: [
      'NO_ACTIVE_LINE',
      'FALLBACK_NOT_CONFIGURED',
      'NOT_FOUND',
      'IDEMPOTENCY_KEY_REUSED',
      'RATE_LIMITED',
      'LIMIT_REACHED',
    ],
    async handler({ caller, body, header, intake, waitingMessages, now }) {
      waitingMessages.admit(caller.workspace.id);
      const idempotencyKey = header('idempotency-key');
      requireHeaderLength('Idempotency-Key', idempotencyKey, MAX_KEY_LENGTH);
      const correlationHeader = header('x-correlation-id');
      requireHeaderLength('X-Correlation-Id', correlationHeader, MAX_NAME_LENGTH);
      const correlationId = correlationHeader || body.correlationId || randomUUID();
      const { acknowledgement, quietUntil, replayed } = await intake.accept({
        caller,
        input: body,
        correlationId,
        now,
        idempotencyKey,
        requestHash: idempotencyKey === '' ? '' : await requestHash(body),
      });
      const answer = {
        ...acknowledgement,
        warnings: warningsOfDrip(body, {
          country: caller.workspace.country,
          quietUntil,
          customFields: templatesOf(body).some(readsCustomFields)
            ? await intake.customFields(caller.workspace.id)
            : null,
        }),
      };
      return replayed
        ? { status: 200, body: answer, headers: { 'Idempotent-Replayed': 'true' } }
        : { status: 202, body: answer };
    },
  }),
];

const templatesOf = ({ message, subject, smsFallbackMessage }: DripInput): string[] =>
  [message, subject, smsFallbackMessage].filter((template) => template !== undefined);

const warningsOfDrip = (
  { message, messageType, attachmentUrls, smsFallbackMessage, subject, recipientPhone }: DripInput,
  {
    country,
    quietUntil,
    customFields,
  }: { country: string; quietUntil: QuietUntil | null; customFields: readonly string[] | null },
) =>
  warningsOf({
    channel: messageType ?? 'imessage',
    text: message ?? '',
    files: attachmentUrls?.length ?? 0,
    phone: normalizePhone(recipientPhone ?? '', country),
    fallbackText: smsFallbackMessage,
    subject,
    ...(customFields && { customFields }),
    isFirst: null,
    unanswered: null,
    quietUntil,
  });
