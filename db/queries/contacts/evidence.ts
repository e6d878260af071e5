import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Contact } from '#domain/contacts/contact.ts';
import {
  type Evidence,
  type EvidenceMessage,
  leftAfter,
  releaseRule,
  verificationOf,
} from '#domain/contacts/evidence.ts';
import { OptOutSource } from '#domain/contacts/opt-out.ts';
import {
  checkSeal,
  linkText,
  type Seal,
  type Sealable,
  sealedText,
  type StoredSeal,
} from '#domain/contacts/record-seal.ts';
import { ApprovalChannel, DraftSource } from '#domain/events/ai-draft.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { shownStatus } from '#domain/messages/message-status.ts';
import { mapInTurns, nextTurn } from '#domain/base/turns.ts';
import { auditedContacts, entriesAbout, presentAuditEntry } from '../accounts/audit-log.ts';
import { workspacePace, workspaceProfile } from '../accounts/workspaces.ts';
import { listInboxMembers } from '../inbox/inbox-members.ts';
import { recipientOf } from '../messages/message-recipient.ts';
import { sendWindow } from '../messages/message-window.ts';
import { MessageRow } from '../messages/messages.ts';
import { presentConsent } from './consents.ts';
import { isMessageOf, texts } from './contacts.ts';
import type { LeadRow } from './leads.ts';
import {
  lastSeal,
  ledgerOf,
  sealableConsent,
  sealableEntry,
  sealableSend,
  sealsAround,
  sendsOf,
} from './record-seals.ts';

/** A contact with more is shown its newest. */
const MAX_MESSAGES = 5000;

/** A query parses its rows, and hashes are computed, in one piece of work. */
const ROWS_AT_ONCE = 250;

/** What `read` returns for parts of the items, together; others get a turn after each. */
async function inParts<Item, Row>(
  items: readonly Item[],
  read: (part: Item[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let start = 0; start < items.length; start += ROWS_AT_ONCE) {
    rows.push(...(await read(items.slice(start, start + ROWS_AT_ONCE))));
    await nextTurn();
  }
  return rows;
}

const IdRow = z.object({ id: z.string() });

const MoveRow = z.object({
  messageId: z.string(),
  at: z.date(),
  movedFrom: z.date(),
  movedTo: z.date(),
  reason: z.string(),
});

const DraftRow = z.object({
  replyId: z.string(),
  messageId: z.string(),
  source: DraftSource,
  model: z.string().nullable(),
  approvalChannel: ApprovalChannel.nullable(),
  resolvedBy: z.string().nullable(),
  resolvedAt: z.date().nullable(),
});

const SenderRow = z.object({ id: z.string(), address: z.string().nullable() });
const ReplyRow = z.object({ id: z.string(), body: z.string() });
const ChangedRow = z.object({ at: z.date() });

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Reads what proves how a contact was treated, and checks it against its seals. */
export async function readEvidence(
  db: TenantDb,
  lead: LeadRow,
  contact: Contact,
  now: Date,
): Promise<Evidence> {
  const pace = await workspacePace(db);
  const { name: workspaceName } = await workspaceProfile(db);
  const history = await readMessages(db, contact);
  const { messages, sends, latest } = history;
  const ledger = await ledgerOf(db, contact.addresses);
  const entries = await readEntries(db, contact, history, ledger);
  const seals = await sealsOf(db, entries, ledger, latest, now);
  const last = await lastSeal(db);
  const shown = await mapInTurns(messages, (message) => presentMessage(message, history, pace, seals));
  const optOuts = await readOptOuts(db, ledger, sends);
  return {
    success: true,
    generatedAt: now.toISOString(),
    workspaceId: db.workspaceId,
    workspaceName,
    leadId: lead.id,
    name: [lead.firstName, lead.lastName].filter(Boolean).join(' '),
    addresses: [...contact.addresses],
    timezone: pace.timezone,
    consents: ledger.map(({ origin: _origin, replyId: _replyId, ...row }) => ({
      ...presentConsent(row),
      seal: seals.of(row.id),
    })),
    optOuts,
    messages: shown,
    truncated: messages.length === MAX_MESSAGES,
    audit: entries.map((row) => ({ ...presentAuditEntry(row), seal: seals.of(row.id) })),
    verification: {
      ...verificationOf(seals.all),
      chainPosition: last?.position ?? 0,
      chainHash: last?.hash ?? null,
    },
  };
}

type Send = Awaited<ReturnType<typeof sendsOf>>[number];
type Ledger = Awaited<ReturnType<typeof ledgerOf>>;
type Pace = Awaited<ReturnType<typeof workspacePace>>;
type Entries = Awaited<ReturnType<typeof entriesAbout>>;

/** The messages to a contact, with what is known about each. */
interface History {
  messages: readonly MessageRow[];
  sends: readonly Send[];
  /** By message. */
  latest: ReadonlyMap<string, Send>;
  drafts: ReadonlyMap<string, z.infer<typeof DraftRow>>;
  moves: ReadonlyMap<string, readonly z.infer<typeof MoveRow>[]>;
  /** The names of users. */
  authors: ReadonlyMap<string, string | null>;
  /** The addresses of lines. */
  senders: ReadonlyMap<string, string | null>;
  rulesChangedAt: readonly Date[];
}

async function readMessages(db: TenantDb, contact: Contact): Promise<History> {
  const newest = await db.anyFirst(sql.type(IdRow)`
    select m.id from messages m where ${isMessageOf(db, contact)} order by m.id desc limit ${MAX_MESSAGES}`);
  const ids = newest.toReversed();
  const messages = await inParts(ids, (part) =>
    db.any(sql.type(MessageRow)`
      select * from messages where workspace_id = ${db.workspaceId} and id = any(${texts(part)}) order by id`),
  );
  const sends = await inParts(ids, (part) => sendsOf(db, part));
  const drafts = await inParts(ids, (part) =>
    db.any(sql.type(DraftRow)`
      select reply_id, message_id, source, model, approval_channel, resolved_by, resolved_at from ai_drafts
      where workspace_id = ${db.workspaceId} and message_id = any(${texts(part)}) and status = 'approved'`),
  );
  const moves = await inParts(ids, (part) =>
    db.any(sql.type(MoveRow)`
      select message_id, at, moved_from, moved_to, reason from message_moves
      where workspace_id = ${db.workspaceId} and message_id = any(${texts(part)}) order by at`),
  );
  const rulesChangedAt = await rulesChanges(db);
  const members = await listInboxMembers(db, [
    ...new Set(messages.flatMap(({ createdByUserId }) => createdByUserId ?? [])),
  ]);
  const lineIds = [...new Set(messages.flatMap(({ lineId }) => lineId ?? []))];
  const senders = await db.any(sql.type(SenderRow)`
    select id, coalesce(phone, email) address from lines
    where workspace_id = ${db.workspaceId} and id = any(${texts(lineIds)})`);
  return {
    messages,
    sends,
    latest: new Map(sends.map((send) => [send.messageId, send])),
    drafts: new Map(drafts.map((draft) => [draft.messageId, draft])),
    moves: Map.groupBy(moves, ({ messageId }) => messageId),
    authors: new Map(members.map(({ userId, name }) => [userId, name])),
    senders: new Map(senders.map(({ id, address }) => [id, address])),
    rulesChangedAt,
  };
}

/** The entries of the audit log about a contact, its messages, their drafts and its consents. */
async function readEntries(
  db: TenantDb,
  { leadIds, addresses }: Contact,
  { messages, drafts }: History,
  ledger: Ledger,
): Promise<Entries> {
  const audited = await auditedContacts(db, addresses);
  return entriesAbout(db, [
    ...leadIds,
    ...addresses,
    ...audited.values(),
    ...messages.map(({ id }) => id),
    ...[...drafts.values()].map(({ replyId }) => replyId),
    ...ledger.map(({ id }) => id),
  ]);
}

/** Checks all records against their seals. A text that was edited after its send does not break the seal of the send. */
const sealsOf = (
  db: TenantDb,
  entries: Entries,
  ledger: Ledger,
  latest: History['latest'],
  now: Date,
): Promise<Seals> =>
  checkedSeals(
    db,
    [
      ...entries.map((row) => ({ record: sealableEntry(row), recordedAt: row.at })),
      ...ledger.map((row) => ({ record: sealableConsent(row), recordedAt: row.createdAt })),
      ...[...latest.values()].map((row) => ({ record: sealableSend(row), recordedAt: row.startedAt })),
    ],
    now,
    (sealed) => {
      const changes = entries.filter(
        ({ id, action }) =>
          (action === 'message.edited' || action === 'message.unsent') && sealed(id).state === 'intact',
      );
      const changesOf = Map.groupBy(changes, ({ targetId }) => targetId);
      return new Set(
        [...latest.values()]
          .filter(({ messageId, startedAt }) => changesOf.get(messageId)?.some(({ at }) => at > startedAt))
          .map(({ id }) => id),
      );
    },
  );

function presentMessage(message: MessageRow, history: History, pace: Pace, seals: Seals): EvidenceMessage {
  const { authors, senders, latest, drafts } = history;
  const send = latest.get(message.id);
  const draft = drafts.get(message.id);
  return {
    messageId: message.id,
    channel: message.channel,
    from: senders.get(message.lineId ?? '') ?? null,
    to: message.address,
    lineId: message.lineId,
    status: shownStatus(message.status),
    text: message.sentText ?? message.body,
    subject: message.sentSubject ?? message.subject,
    attachmentNames: message.attachmentNames,
    acceptedAt: message.createdAt.toISOString(),
    wrote: {
      source: message.source,
      userId: message.createdByUserId,
      name: authors.get(message.createdByUserId ?? '') ?? null,
      campaignId: message.campaignId,
      draftSource: draft?.source ?? null,
      model: draft?.model ?? null,
    },
    approved: draft
      ? { by: draft.resolvedBy, channel: draft.approvalChannel, at: iso(draft.resolvedAt) }
      : null,
    released: send ? releaseOf(message, send, history, pace) : null,
    sentAt: iso(message.sentAt),
    deliveredAt: iso(message.deliveredAt),
    readAt: iso(message.readAt),
    editedAt: iso(message.editedAt),
    unsentAt: iso(message.unsentAt),
    errorMessage: message.errorMessage,
    seal: send ? seals.of(send.id) : null,
  };
}

/** By which rule a message was sent when it was. */
function releaseOf(
  message: MessageRow,
  send: Send,
  { moves, rulesChangedAt }: History,
  pace: Pace,
): EvidenceMessage['released'] {
  const { startedAt } = send;
  const rule = releaseRule(
    {
      at: startedAt,
      recipient: recipientOf(message),
      ...sendWindow(message),
      isAnswer: message.answersUntil !== null && message.answersUntil > startedAt,
    },
    pace,
  );
  return {
    at: startedAt.toISOString(),
    attemptId: send.id,
    carrier: send.carrier,
    ...rule,
    rulesChangedAt: iso(rulesChangedAt.find((at) => at > startedAt) ?? null),
    delays: (moves.get(message.id) ?? []).map(({ at, movedFrom, movedTo, reason }) => ({
      at: at.toISOString(),
      from: movedFrom.toISOString(),
      to: movedTo.toISOString(),
      reason,
    })),
  };
}

/** The opt-outs in the ledger, and what was sent after each. */
async function readOptOuts(
  db: TenantDb,
  ledger: Ledger,
  sends: readonly Send[],
): Promise<Evidence['optOuts']> {
  const replies = await db.any(sql.type(ReplyRow)`
    select id, body from inbound_messages
    where workspace_id = ${db.workspaceId} and id = any(${texts(ledger.flatMap(({ replyId }) => replyId ?? []))})`);
  const departures = sends.map(({ address, startedAt }) => ({ address, at: startedAt }));
  return ledger.flatMap((entry) => {
    const { id, address, at, status, origin, replyId } = entry;
    const source = OptOutSource.safeParse(origin);
    if (status !== 'revoked' || !source.success) return [];
    const end = ledger.find(
      (later) =>
        later.address === address && later.status === 'granted' && later.origin !== null && later.at > at,
    );
    const body = replies.find((reply) => reply.id === replyId)?.body;
    return [
      {
        consentId: id,
        address,
        at: at.toISOString(),
        source: source.data,
        text: body === undefined ? null : shownReply(body),
        endedAt: iso(end?.at ?? null),
        ...leftAfter({ address, at, endedAt: end?.at ?? null }, departures),
      },
    ];
  });
}

/** When the hours in which recipients may get messages were changed, oldest first. */
async function rulesChanges(db: TenantDb): Promise<readonly Date[]> {
  const rows = await db.any(sql.type(ChangedRow)`
    select at from audit_log
    where workspace_id = ${db.workspaceId} and target_id = ${db.workspaceId} and action = 'quiet_hours.updated' order by id`);
  return rows.map(({ at }) => at);
}

interface Seals {
  of(id: string): Seal;
  all: readonly Seal[];
}

interface Recorded {
  record: Sealable;
  recordedAt: Date;
}

/**
 * Checks records against their seals.
 * @param editedOf returns the ids of sends whose text was changed afterwards, from what the seals of the audit log say.
 */
async function checkedSeals(
  db: TenantDb,
  records: readonly Recorded[],
  now: Date,
  editedOf: (sealed: (id: string) => Seal) => ReadonlySet<string>,
): Promise<Seals> {
  const found = await inParts(records, (part) =>
    sealsAround(
      db,
      part.map(({ record }) => record),
    ),
  );
  const byRecord = new Map(found.map((seal) => [`${seal.kind} ${seal.recordId}`, seal]));
  const byPosition = new Map(found.map((seal) => [seal.position, seal]));
  const lastPosition = (await lastSeal(db))?.position ?? 0;
  const sealOf = ({ record }: Recorded): StoredSeal | null =>
    byRecord.get(`${record.kind} ${record.id}`) ?? null;
  const hashes = (textOf: (record: Recorded) => string): Promise<string[]> =>
    inParts(records, async (part) => {
      const computed = await db.addressHashes.of(db.workspaceId, part.map(textOf));
      if (!computed) throw new Error('a process without encryption keys cannot check seals');
      return computed;
    });
  const digests = await hashes(({ record }) => sealedText(record));
  const links = await hashes((record) => {
    const seal = sealOf(record);
    return seal ? linkText(seal) : '';
  });
  const check = (record: Recorded, index: number, isEdited: boolean): Seal => {
    const seal = sealOf(record);
    const position = seal?.position ?? 0;
    return checkSeal(
      {
        seal,
        digest: digests[index] ?? '',
        hash: links[index] ?? '',
        before: byPosition.get(position - 1)?.hash ?? null,
        after: byPosition.get(position + 1)?.previous ?? null,
        isLast: position === lastPosition,
        recordedAt: record.recordedAt,
        isEdited,
      },
      now,
    );
  };
  const checked = new Map(records.map((record, index) => [record.record.id, check(record, index, false)]));
  const of = (id: string): Seal => {
    const seal = checked.get(id);
    if (!seal) throw new Error(`no seal was checked for ${id}`);
    return seal;
  };
  const edited = editedOf(of);
  for (const [index, record] of records.entries())
    if (edited.has(record.record.id)) checked.set(record.record.id, check(record, index, true));
  return { of, all: [...checked.values()] };
}
