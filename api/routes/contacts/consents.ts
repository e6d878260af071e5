import { z } from 'zod';
import { recordConsent } from '#db/commands/contacts/consents.ts';
import { listConsents, presentConsent } from '#db/queries/contacts/consents.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import { Consent, ConsentChannel, ConsentInput, ConsentStatus } from '#domain/contacts/consent.ts';
import { dayBounds } from '#domain/base/calendar.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { hasScope } from '#domain/accounts/key-scope.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

/** How far the caller's clock may be ahead. */
const TOLERANCE_MS = 60_000;

function addressOf(text: string, country: string): string {
  const address = normalizeAddress(text, country);
  if (address === null) throw invalid('address', 'must be a phone number or an email address');
  return address;
}

/** Whether a caller may record a consent that was given before today. */
export const mayBackdate = ({ key }: WorkspaceCaller): boolean => !key || hasScope(key.scopes, ['manage']);

export const consentRoutes = [
  workspaceRoute({
    id: 'listConsents',
    method: 'GET',
    path: '/api/consents',
    tag: 'Opt-outs',
    summary: 'List the consents and withdrawals of contacts, newest first',
    description: 'A ledger: entries are never changed, and the latest of an address and channel counts.',
    query: PageQuery.extend({
      address: z.string().max(320).optional(),
      channel: ConsentChannel.optional(),
      status: ConsentStatus.optional(),
    }),
    responses: {
      200: z.object({ success: z.literal(true), consents: z.array(Consent), nextCursor: NextCursor }),
    },
    async handler({ db, caller, query: { limit, cursor, address, ...filter } }) {
      const of = address === undefined ? {} : { address: addressOf(address, caller.workspace.country) };
      const rows = await listConsents(db, { ...filter, ...of }, { limit: limit + 1, cursor });
      const { items, nextCursor } = page(rows, limit);
      return { status: 200, body: { success: true, consents: items.map(presentConsent), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createConsent',
    method: 'POST',
    path: '/api/consents',
    tag: 'Opt-outs',
    summary: 'Record that a contact consented, or withdrew consent',
    description:
      'It neither opts an address in nor out (`POST /api/opt-outs`); opt-outs and opt-ins write entries of their own. A withdrawal stops the campaigns with `requireConsent` for the contact.',
    idempotent: true,
    body: ConsentInput,
    responses: { 201: z.object({ success: z.literal(true), consent: Consent }) },
    errors: ['INSUFFICIENT_SCOPE'],
    audit: {
      action: 'consent.recorded',
      target: 'contact',
      targets: ({ answer }) => [{ id: answer.consent._id }],
      changes: ['status', 'channel', 'source', 'at'],
    },
    async handler({ db, caller, body, now }) {
      const at = body.at === undefined ? now : new Date(body.at);
      if (at.getTime() > now.getTime() + TOLERANCE_MS) throw invalid('at', 'must not be in the future');
      if (at < dayBounds(caller.workspace.timezone, now).start && !mayBackdate(caller))
        throw new ApiError(
          'INSUFFICIENT_SCOPE',
          'A consent that was given before today needs the scope manage',
          {
            required: 'manage',
          },
        );
      const address = addressOf(body.address, caller.workspace.country);
      const { name: recordedBy } = caller.actor;
      const entry = { ...body, address, evidence: body.evidence ?? null, at, recordedBy };
      const consent = await recordConsent(db, entry, now);
      return { status: 201, body: { success: true, consent: presentConsent(consent) } };
    },
  }),
];
