import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/** A round that a process takes from `workflow_wakes`, without the workflow. */
export interface DueRound {
  workspaceId: string;
  workflowId: string;
}

const RoundRow = z.object({ workspaceId: z.string(), workflowId: z.string() });

/** How long a claim lasts that is not extended: the process has crashed. */
const CLAIM = sql.fragment`interval '15 seconds'`;
/** When the sweep signals the workflow of a claim that nobody extends or takes over. */
const SWEEP_AFTER = sql.fragment`interval '45 seconds'`;
const kindOf = sql.fragment`split_part(w.workflow_id, ':', 1)`;
const isFree = sql.fragment`(w.claimed_until is null or w.claimed_until < now())`;

interface DueRounds {
  /** Of workflows, as their ids begin. */
  kinds: readonly string[];
  /** For rounds of lines: only at these carriers. */
  carriers: readonly string[];
  /** None of these: a kind, a space and a workspace. */
  full: readonly string[];
  limit: number;
}

/** The rounds that are due and that nobody has, the longest due first. The kinds by name are the condition of the index. */
export async function findDueRounds(
  db: SystemDb,
  { kinds, carriers, full, limit }: DueRounds,
): Promise<readonly DueRound[]> {
  return db.any(sql.type(RoundRow)`
    select w.workspace_id, w.workflow_id from workflow_wakes w
    left join lines l on ${kindOf} = 'mailbox-reader' and l.workspace_id = w.workspace_id and l.id = split_part(w.workflow_id, ':', 2)
    where ${kindOf} = any(${sql.array([...kinds], 'text')}) and w.wake_at <= now() and w.wake_at < 'infinity' and ${isFree}
      and ${kindOf} in ('webhook-dispatcher', 'mailbox-reader', 'drip-drainer', 'crm-connection')
      and (${kindOf} <> 'mailbox-reader' or l.carrier = any(${sql.array([...carriers], 'text')}))
      and ${kindOf} || ' ' || w.workspace_id <> all(${sql.array([...full], 'text')})
    order by w.wake_at limit ${limit}`);
}

/** Claims rounds. @returns those that no other process was faster to claim. */
export async function claimRounds(db: SystemDb, rounds: readonly DueRound[]): Promise<readonly DueRound[]> {
  return db.any(sql.type(RoundRow)`
    update workflow_wakes w set claimed_until = now() + ${CLAIM}, sweep_at = greatest(sweep_at, now() + ${SWEEP_AFTER})
    where ${among(rounds)} and w.wake_at <= now() and ${isFree}
    returning w.workspace_id, w.workflow_id`);
}

/** Extends claims, or takes them over. */
export async function extendClaims(db: SystemDb, rounds: readonly DueRound[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workflow_wakes w set claimed_until = now() + ${CLAIM}, sweep_at = greatest(sweep_at, now() + ${SWEEP_AFTER})
    where ${among(rounds)}`);
}

/** Ends a claim: the next round may begin when it is due, or after `pauseMs`. */
export async function releaseClaim(db: SystemDb, round: DueRound, pauseMs = 0): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workflow_wakes w set claimed_until = now() + make_interval(secs => ${pauseMs / 1000})
    where ${among([round])}`);
}

/** Ids of workflows are unique; with the workspaces, the primary key finds them. */
const among = (rounds: readonly DueRound[]) => sql.fragment`
  w.workspace_id = any(${sql.array([...new Set(rounds.map(({ workspaceId }) => workspaceId))], 'text')})
  and w.workflow_id = any(${sql.array(
    rounds.map(({ workflowId }) => workflowId),
    'text',
  )})`;

/** Records that a process of this kind of rounds is looking for them. */
export async function recordPolled(db: SystemDb, kinds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into polled_kinds (kind, polled_at) select kind, now() from ${sql.unnest(
      [...kinds].toSorted().map((kind) => [kind]),
      ['text'],
    )} as t (kind)
    on conflict (kind) do update set polled_at = excluded.polled_at`);
}

const KindRow = z.object({ kind: z.string() });

/** The kinds of rounds for which a process has looked within half a minute. */
export async function polledKinds(db: SystemDb): Promise<ReadonlySet<string>> {
  const kinds = await db.anyFirst(sql.type(KindRow)`
    select kind from polled_kinds where polled_at > now() - interval '30 seconds'`);
  return new Set(kinds);
}
