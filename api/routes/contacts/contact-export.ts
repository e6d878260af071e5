import { Readable } from 'node:stream';
import { z } from 'zod';
import { draftsTo, presentDraft } from '#db/queries/drafts/ai-drafts.ts';
import { callsOf, presentCall } from '#db/queries/inbox/calls.ts';
import { findOptOuts, presentOptOut } from '#db/queries/contacts/opt-outs.ts';
import {
  exportAvailability,
  exportCampaigns,
  exportDrips,
  exportEvents,
  exportLeads,
  exportMessages,
  type ExportPage,
  exportRejectedRows,
  exportReplies,
} from '#db/queries/contacts/contact-export.ts';
import { findContact } from '#db/queries/contacts/contacts.ts';
import { consentsOf, presentConsent } from '#db/queries/contacts/consents.ts';
import { notesOf, presentNotes } from '#db/queries/inbox/conversation-notes.ts';
import { findConversations, presentConversations } from '#db/queries/inbox/conversations.ts';
import { findLead } from '#db/queries/contacts/leads.ts';
import { presentSuspicion, suspicionsOf } from '#db/queries/contacts/opt-out-suspicions.ts';
import { type TenantDb, withTenant, withTenantReads } from '#db/connection/transactions.ts';
import type { FileLinks } from '#domain/messages/attachment.ts';
import type { Contact } from '#domain/contacts/contact.ts';
import { ContactExport } from '#domain/contacts/contact-export.ts';
import { Id } from '#domain/base/ids.ts';
import { yielding } from '#domain/base/turns.ts';
import { ResponseStream, workspaceRoute } from '#api/http/route.ts';
import { leadNotFound } from './leads.ts';

export const contactExportRoutes = [
  workspaceRoute({
    id: 'exportContact',
    method: 'GET',
    path: '/api/leads/{id}/export',
    tag: 'Contacts',
    transaction: false,
    summary: 'Export everything stored about a contact as one JSON document',
    description:
      'A contact is a person: the addresses of the lead, every lead that shares one of them, and everything sent to or received from these addresses. Files are signed links. The document is streamed; copies of the same data in emails to members of the workspace are not included.',
    params: z.object({ id: Id }),
    produces: 'application/json',
    streams: ContactExport,
    responses: { 200: ResponseStream },
    errors: ['NOT_FOUND'],
    audit: { action: 'contact.exported', target: 'lead', targets: 'handler' },
    async handler({ caller, params, now, pools, links, audit }) {
      const workspaceId = caller.workspace.id;
      const contact = await withTenant(pools, workspaceId, async (db) => {
        if (!(await findLead(db, params.id))) throw leadNotFound();
        await audit(db, [{ id: params.id, changes: {} }]);
        return findContact(db, params.id);
      });
      const read = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenantReads(pools, workspaceId, work);
      return {
        status: 200,
        body: Readable.from(document(read, contact, links, now)),
        headers: { 'Content-Disposition': 'attachment; filename="contact.json"' },
      };
    },
  }),
];

type Read = <T>(work: (db: TenantDb) => Promise<T>) => Promise<T>;
type Page = (db: TenantDb, after: string) => Promise<ExportPage<unknown>>;

/** The lists of the document, in its order. */
function pages(contact: Contact, links: FileLinks, now: Date): Record<string, Page> {
  const { addresses } = contact;
  const once =
    (read: (db: TenantDb) => Promise<unknown[]>): Page =>
    async (db) => ({ items: await read(db), next: null });
  return {
    leads: once((db) => exportLeads(db, contact)),
    optOuts: once(async (db) => (await findOptOuts(db, addresses)).map(presentOptOut)),
    suspectedOptOuts: once(async (db) => (await suspicionsOf(db, addresses)).map(presentSuspicion)),
    consents: async (db, after) =>
      paged(await consentsOf(db, addresses, { limit: PAGE, after }), presentConsent),
    conversations: once(async (db) => exportConversations(db, addresses, now)),
    availability: once((db) => exportAvailability(db, contact)),
    campaigns: once((db) => exportCampaigns(db, contact)),
    rejectedRows: once((db) => exportRejectedRows(db, contact)),
    drips: (db, after) => exportDrips(db, contact, after),
    messages: (db, after) => exportMessages(db, contact, after, now),
    replies: (db, after) => exportReplies(db, contact, after, links, now),
    notes: async (db, after) => {
      const rows = await notesOf(db, addresses, { limit: PAGE, after });
      const notes = await presentNotes(db, rows);
      return paged(rows, (row) => notes.find(({ _id }) => _id === row.id));
    },
    drafts: async (db, after) => paged(await draftsTo(db, addresses, { limit: PAGE, after }), presentDraft),
    calls: async (db, after) =>
      paged(await callsOf(db, addresses, { limit: PAGE, after }), (row) =>
        presentCall(db.workspaceId, row, links, now),
      ),
    events: (db, after) => exportEvents(db, contact, after),
  };
}

const PAGE = 200;

/** Without unread counts, which depend on the user. */
async function exportConversations(db: TenantDb, addresses: readonly string[], now: Date) {
  const rows = await findConversations(db, addresses);
  const conversations = await presentConversations(db, rows, {
    workspaceId: db.workspaceId,
    userId: null,
    now,
    since: now,
  });
  return conversations.map(({ unread: _unread, unreadCount: _count, ...conversation }) => conversation);
}

function paged<Row extends { id: string }>(
  rows: readonly Row[],
  present: (row: Row) => unknown,
): ExportPage<unknown> {
  return { items: rows.map(present), next: rows.length < PAGE ? null : (rows.at(-1)?.id ?? null) };
}

/** The document in parts: one page of one list is in memory at a time. */
async function* document(read: Read, contact: Contact, links: FileLinks, now: Date): AsyncGenerator<string> {
  const head = { success: true, exportedAt: now.toISOString(), addresses: contact.addresses };
  yield JSON.stringify(head).slice(0, -1);
  for (const [name, page] of Object.entries(pages(contact, links, now))) {
    yield `,"${name}":[`;
    let separator = '';
    for (let after: string | null = ''; after !== null;) {
      const from: string = after;
      const { items, next } = await read((db) => page(db, from));
      for await (const item of yielding(items)) {
        yield separator + JSON.stringify(item);
        separator = ',';
      }
      after = next;
    }
    yield ']';
  }
  yield '}';
}
