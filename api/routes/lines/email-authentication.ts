import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { EmailCheck } from '#domain/lines/email-authentication.ts';
import { Id } from '#domain/base/ids.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { checkEmailAuthentication } from '#providers/email-authentication/checks.ts';
import { withDns } from '#providers/email-authentication/dns.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';
import type { Services } from '#api/services.ts';

const DEADLINE_MS = 5000;

export const emailAuthenticationRoutes = [
  workspaceRoute({
    id: 'checkEmailAuthentication',
    method: 'GET',
    path: '/api/lines/{id}/email-authentication',
    tag: 'Lines',
    transaction: false,
    summary: 'Check the DNS records that authenticate the emails of a line: SPF, DKIM, DMARC, MX and PTR',
    description:
      'Looks up the records in DNS now, within 5 seconds; a check that DNS does not answer in time is `unknown`. For a line of another channel, or without an address, the response is `409`.',
    params: z.object({ id: Id }),
    responses: { 200: z.object({ checks: z.array(EmailCheck) }) },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    async handler({ caller, params: { id }, ...services }) {
      const { pools, config } = services;
      const line = await withTenant(pools, caller.workspace.id, (db) => findLine(db, id));
      if (!line) throw lineNotFound();
      const sender = senderOf(line, services);
      const checks = await withDns({ servers: config.dnsServers, deadlineMs: DEADLINE_MS }, (dns) =>
        checkEmailAuthentication(dns, sender, { allowLoopback: config.webhooks.allowPrivate }),
      );
      return { status: 200, body: { checks } };
    },
  }),
];

function senderOf(line: LineRow, services: Services) {
  if (line.channel !== 'email') throw new ApiError('INVALID_STATE', 'Only email lines have these records');
  if (line.email === null) throw new ApiError('INVALID_STATE', 'The line has no address yet');
  const domain = line.email.slice(line.email.lastIndexOf('@') + 1);
  const named = services.carriers.names.includes(line.carrier);
  const { carrier, config } = named ? lineCarrier(services, line) : { carrier: null, config: null };
  const through = carrier?.emailServer?.(config) ?? { host: null, dkimSelector: null };
  return { domain: domainToASCII(domain) || domain, ...through };
}
