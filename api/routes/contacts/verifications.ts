import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { findLine, isUsable, usableLines } from '#db/queries/lines/lines.ts';
import {
  findVerification,
  insertVerification,
  presentVerification,
} from '#db/queries/contacts/verifications.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import { newVerificationCode, Verification, VerificationInput } from '#domain/contacts/verification.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';

const OneVerification = z.object({ success: z.literal(true), verification: Verification });

export const verificationRoutes = [
  workspaceRoute({
    id: 'createVerification',
    method: 'POST',
    path: '/api/verifications',
    tag: 'Contacts',
    summary: 'Verify a number: its owner sends a code from it',
    description:
      'Nothing is sent. Show the code, or open `sms` on the phone; a message from the number that contains the code verifies it. The code is valid for 15 minutes, or until ten messages had other codes. Five of a number may be open.',
    idempotent: true,
    body: VerificationInput,
    responses: { 201: OneVerification },
    errors: ['NO_ACTIVE_LINE', 'LIMIT_REACHED'],
    async handler({ db, caller, body, now }) {
      const phone = normalizePhone(body.phone, caller.workspace.country);
      if (phone === null) throw invalid('phone', 'must be a phone number');
      const lineId = await lineFor(db, body.fromLineId);
      const row = await insertVerification(db, { phone, lineId, code: newVerificationCode(randomInt) }, now);
      return { status: 201, body: { success: true, verification: presentVerification(row, now) } };
    },
  }),

  workspaceRoute({
    id: 'getVerification',
    method: 'GET',
    path: '/api/verifications/{id}',
    tag: 'Contacts',
    summary: 'Get a verification of a number',
    description: 'It is deleted after 30 days.',
    params: z.object({ id: Id }),
    responses: { 200: OneVerification },
    errors: ['NOT_FOUND'],
    async handler({ db, params, now }) {
      const row = await findVerification(db, params.id);
      if (!row) throw new ApiError('NOT_FOUND', 'Verification not found');
      return { status: 200, body: { success: true, verification: presentVerification(row, now) } };
    },
  }),
];

/** @throws VALIDATION_ERROR, NO_ACTIVE_LINE */
async function lineFor(db: TenantDb, id: string | undefined): Promise<string> {
  if (id === undefined) {
    const line = (await usableLines(db)).find(({ channel }) => channel !== 'email');
    if (!line) throw new ApiError('NO_ACTIVE_LINE');
    return line.id;
  }
  const line = await findLine(db, id);
  if (!line) throw invalid('fromLineId', 'must be a line of the workspace');
  if (line.channel === 'email') throw invalid('fromLineId', 'must be an iMessage or SMS line');
  if (!isUsable(line)) throw invalid('fromLineId', 'must be an active line');
  return id;
}
