import { Readable } from 'node:stream';
import { z } from 'zod';
import { findContact } from '#db/queries/contacts/contacts.ts';
import { readEvidence } from '#db/queries/contacts/evidence.ts';
import { findLead } from '#db/queries/contacts/leads.ts';
import { withTenant, withTenantReads } from '#db/connection/transactions.ts';
import { Evidence } from '#domain/contacts/evidence.ts';
import { Id } from '#domain/base/ids.ts';
import { serializeInTurns } from '#api/http/parse.ts';
import { ResponseStream, workspaceRoute } from '#api/http/route.ts';
import { leadNotFound } from './leads.ts';

const PDF = 'application/pdf';

export const evidenceRoutes = [
  workspaceRoute({
    id: 'getEvidence',
    method: 'GET',
    path: '/api/leads/{id}/evidence',
    tag: 'Contacts',
    transaction: false,
    summary: 'Get what proves how a contact was treated, as JSON or PDF',
    description:
      'Consents with their wording; every message, who wrote and approved it, the rule by which it left at that local time, and its receipts; opt-outs, and how long after each a message left. ' +
      'Each consent, audit entry and message that was sent is compared with its seal: a keyed hash, chained with all others of the workspace, that was made within ten minutes. ' +
      'A later change in the database shows as `changed`. The PDF is sent for `Accept: application/pdf` or `format=pdf`; it contains the JSON document as an attachment.',
    params: z.object({ id: Id }),
    query: z.object({
      format: z.enum(['json', 'pdf']).optional().meta({ description: 'Default: by the `Accept` header.' }),
    }),
    produces: 'application/json',
    alsoProduces: PDF,
    streams: Evidence,
    responses: { 200: ResponseStream },
    errors: ['NOT_FOUND'],
    audit: { action: 'contact.exported', target: 'lead', targets: 'handler' },
    async handler({ caller, params, query, header, now, pools, audit }) {
      const format = query.format ?? (header('accept').includes(PDF) ? 'pdf' : 'json');
      const workspaceId = caller.workspace.id;
      await withTenant(pools, workspaceId, async (db) => {
        if (!(await findLead(db, params.id))) throw leadNotFound();
        await audit(db, [{ id: params.id, changes: { document: 'evidence', format } }]);
      });
      const evidence = await withTenantReads(pools, workspaceId, async (db) => {
        const lead = await findLead(db, params.id);
        if (!lead) throw leadNotFound();
        return readEvidence(db, lead, await findContact(db, lead.id), now);
      });
      const json = (await serializeInTurns(evidence)) ?? Buffer.from(JSON.stringify(evidence));
      const headers = { 'Content-Disposition': `attachment; filename="evidence.${format}"` };
      if (format === 'json') return { status: 200, body: Readable.from([json]), headers };
      // Few processes ever need it, and its library takes 18 MB.
      const { evidencePdf } = await import('./evidence-pdf.ts');
      return { status: 200, body: evidencePdf(evidence, json), headers: { ...headers, 'Content-Type': PDF } };
    },
  }),
];
