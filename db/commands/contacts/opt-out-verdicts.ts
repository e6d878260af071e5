import { sql } from 'slonik';
import type { ModelUse } from '#db/commands/drafts/ai-drafts.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { type AwaitedVerdict, isAwaited } from '#db/queries/contacts/opt-out-suspicions.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dismisses, type VerdictOutput } from '#domain/contacts/opt-out-verdict.ts';
import { askPerson, releaseSuspected } from './opt-out-suspicions.ts';

/** The answer of the model about a doubtful reply, or why there is none. */
interface Judged {
  use: ModelUse;
  answer: VerdictOutput | { error: string };
}

/**
 * Applies the model's answer about a doubtful reply. It opts nobody out: either campaigns continue, or a person decides, as if
 * there were no answer.
 */
export async function applyVerdict(
  db: TenantDb,
  awaited: AwaitedVerdict,
  asked: Judged,
  now: Date,
): Promise<void> {
  const { id, address } = awaited;
  await lockContact(db, address);
  const isDismissed = !('error' in asked.answer) && dismisses(asked.answer);
  if (!(await recordVerdict(db, awaited, asked, { isDismissed, now }))) return;
  if (!isDismissed) return askPerson(db, id, now);
  await insertAuditEntry(
    { db, workspaceId: db.workspaceId },
    {
      actor: { type: 'system', id: null, name: `The model ${asked.use.model}` },
      channel: 'system',
      action: 'opt_out.decided',
      target: { type: 'opt_out_suspicion', id },
      changes: { action: 'dismiss' },
    },
  );
  await releaseSuspected(db, address, now);
}

/**
 * Records the answer of the model, or why there is none.
 * @returns false if a person, a STOP or another reply was first.
 */
async function recordVerdict(
  db: TenantDb,
  { id, replyId }: Pick<AwaitedVerdict, 'id' | 'replyId'>,
  { use, answer }: Judged,
  { isDismissed, now }: { isDismissed: boolean; now: Date },
): Promise<boolean> {
  const { verdict, confidence, reason, error } =
    'error' in answer
      ? { verdict: null, confidence: null, reason: null, error: answer.error }
      : { ...answer, error: null };
  const { rowCount } = await db.query(sql.type(NoRows)`
    update opt_out_suspicions set answered_at = ${sql.timestamp(now)}, model = ${use.model}, verdict = ${verdict},
      confidence = ${confidence}, reason = ${reason}, model_error = ${error}, prompt_tokens = ${use.promptTokens},
      completion_tokens = ${use.completionTokens}, status = ${isDismissed ? 'dismissed' : 'open'},
      decided_at = ${isDismissed ? sql.timestamp(now) : null}
    where workspace_id = ${db.workspaceId} and id = ${id} and reply_id = ${replyId} and ${isAwaited}`);
  return rowCount > 0;
}
