import { sql } from 'slonik';
import { z } from 'zod';
import { CARRYING_CHANNELS, type MessageDraft } from '#domain/message-draft.ts';
import { lockLinesShared, existingLines, advanceRotation, usableLines } from '#db/queries/lines.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

/** What of a message decides its line. */
export type Choosable = Pick<
  MessageDraft,
  'channel' | 'address' | 'pinnedLineId' | 'eligibleLineIds' | 'stickinessPolicy'
>;
type Chosen<M> = M & { lineId: string | null };

/**
 * Gives each draft its line: the named one; else the line its contact is in conversation with; else the next of
 * the workspace-wide round-robin over the active lines of the best fitting channel. Null when none can carry it.
 * The chosen lines stay in the workspace until the transaction ends. A named line that has left it, or eligible lines
 * that all have, are no longer insisted on: the message is to be sent.
 */
export async function chooseLines<M extends Choosable>(
  db: TenantDb,
  drafts: readonly M[],
): Promise<Chosen<M>[]> {
  const present = await keepNamedLines(db, drafts);
  const possible = drafts.map((draft) => insistOn(draft, present));
  for (;;) {
    const messages = await assignLines(db, possible);
    const wanted = messages.flatMap(({ lineId }) => lineId ?? []);
    const kept = await lockLinesShared(db, wanted);
    // One that left between the choice and this is not offered a second time.
    if (!wanted.every((lineId) => kept.has(lineId))) continue;
    await rememberLines(db, messages);
    return messages;
  }
}

/** The pinned and the eligible lines of these drafts that are in the workspace; the pinned ones stay there. */
async function keepNamedLines(db: TenantDb, drafts: readonly Choosable[]): Promise<Set<string>> {
  const pinned = await lockLinesShared(
    db,
    drafts.flatMap(({ pinnedLineId }) => pinnedLineId ?? []),
  );
  // The drafts of a campaign share one array.
  const eligible = [...new Set(drafts.map(({ eligibleLineIds }) => eligibleLineIds ?? []))].flat();
  return new Set([...pinned, ...(await existingLines(db, eligible))]);
}

function insistOn<M extends Choosable>(draft: M, present: ReadonlySet<string>): M {
  const { pinnedLineId, eligibleLineIds } = draft;
  return {
    ...draft,
    pinnedLineId: pinnedLineId !== null && present.has(pinnedLineId) ? pinnedLineId : null,
    eligibleLineIds: eligibleLineIds?.some((id) => present.has(id)) ? eligibleLineIds : null,
  };
}

async function assignLines<M extends Choosable>(db: TenantDb, drafts: readonly M[]): Promise<Chosen<M>[]> {
  const lines = await usableLines(db);
  const sticky = await stickyLines(db, drafts);
  const candidatesOf = (draft: Choosable): string[] => {
    for (const channel of CARRYING_CHANNELS[draft.channel]) {
      const fitting = lines.filter(
        (line) => line.channel === channel && (draft.eligibleLineIds?.includes(line.id) ?? true),
      );
      // A line that is down takes nothing new while another one is up.
      const up = fitting.filter(({ down }) => !down);
      if (fitting.length > 0) return (up.length > 0 ? up : fitting).map(({ id }) => id);
    }
    return [];
  };
  const settled = drafts.map((draft) => {
    if (draft.pinnedLineId !== null) return { draft, lineId: draft.pinnedLineId, candidates: [] };
    const candidates = candidatesOf(draft);
    const known = draft.stickinessPolicy === 'sticky' ? sticky.get(draft.address) : undefined;
    return { draft, lineId: known !== undefined && candidates.includes(known) ? known : null, candidates };
  });
  const open = settled.filter(({ lineId, candidates }) => lineId === null && candidates.length > 0).length;
  let turn = open === 0 ? 0 : await advanceRotation(db, open);
  const chosen = new Map<string, string>();
  return settled.map(({ draft, lineId, candidates }) => {
    if (lineId !== null || candidates.length === 0) return { ...draft, lineId };
    // Two first messages to one address in one batch: the contact keeps the line of the first.
    const earlier =
      draft.stickinessPolicy === 'sticky' ? chosen.get(`${draft.channel} ${draft.address}`) : undefined;
    const next = earlier ?? candidates[turn++ % candidates.length] ?? null;
    if (next !== null) chosen.set(`${draft.channel} ${draft.address}`, next);
    return { ...draft, lineId: next };
  });
}

/**
 * A contact's line is settled with its first message, not with its first send: later messages follow it. When that
 * line stops sending, the one that takes over keeps the contact.
 */
async function rememberLines(db: TenantDb, messages: readonly Chosen<Choosable>[]): Promise<void> {
  const lines = new Map(messages.toReversed().map(({ address, lineId }) => [address, lineId]));
  const rows = [...lines].flatMap(([address, lineId]) => (lineId === null ? [] : [[address, lineId]]));
  // In one order, so that two transactions that settle the same contacts do not deadlock.
  rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  if (rows.length === 0) return;
  await db.query(sql.type(NoRows)`
    insert into conversations (workspace_id, address, line_id)
    select ${db.workspaceId}, c.address, c.line_id from ${sql.unnest(rows, ['text', 'text'])} as c (address, line_id)
    on conflict (workspace_id, address) do update set line_id = excluded.line_id
      where conversations.line_id is null or not exists (
        select 1 from lines l where l.workspace_id = conversations.workspace_id and l.id = conversations.line_id
          and l.is_active and l.provisioning_status = 'active' and l.health_status <> 'down'
      )`);
}

const ContactLineRow = z.object({ address: z.string(), lineId: z.string() });

/** The line each contact of these drafts is in conversation with, or has messages waiting at. */
async function stickyLines(db: TenantDb, drafts: readonly Choosable[]): Promise<Map<string, string>> {
  const addresses = drafts.flatMap((draft) =>
    draft.pinnedLineId === null && draft.stickinessPolicy === 'sticky' ? [draft.address] : [],
  );
  if (addresses.length === 0) return new Map();
  const rows = await db.any(sql.type(ContactLineRow)`
    select address, line_id from conversations
    where workspace_id = ${db.workspaceId} and address = any(${sql.array(addresses, 'text')}) and line_id is not null`);
  return new Map(rows.map(({ address, lineId }) => [address, lineId]));
}
