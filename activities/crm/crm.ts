import { currentTime, fromNow } from '#domain/base/clock.ts';
import { receiveContact, receiveOptOuts } from '#db/commands/crm/receive-contact.ts';
import {
  type CrmPush,
  nextCrmPush,
  recordCrmPushFailure,
  settleCrmPush,
} from '#db/commands/crm/crm-outbox.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import {
  advanceCrm,
  clearCrmOutbox,
  type CrmConnectionRow,
  findCrmConnection,
  recordCrmFailure,
  recordCrmSync,
  renewCrmToken,
  resumeCrm,
} from '#db/queries/crm/crm-connections.ts';
import { workspaceCountry } from '#db/queries/accounts/workspaces.ts';
import { unseenContacts } from '#db/queries/crm/crm-links.ts';
import { decide } from '#db/wakes/decisions.ts';
import type { NewCrmContact } from '#domain/crm/contact.ts';
import { surelyRead } from '#domain/crm/crm.ts';
import { type CrmAccount, CrmDenied, CrmRefused, CrmUnavailable } from '#providers/crms/crm.ts';
import { crmTokenContext } from '#providers/crms/token.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { crmConnectionId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies, ProcessDependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import type { Rounds } from '../base/round-poller.ts';
import { decideToEnd, dueNow, roundOf } from '../base/round.ts';

const ROUND_MS = 60_000;
/** Of a round that a process takes itself, so that all connections get turns. */
const TAKEN_MS = 15_000;
/** What was read is pushed at once, or read again: a process that was suspended meanwhile has lost the connection to another. */
const PUSH_WITHIN_MS = 5000;
/** A token that is refused is tried again so often: its scopes may have been granted. */
const DENIED_AGAIN_MS = 10 * 60_000;
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 10 * 60_000;

interface ConnectionOf {
  workspaceId: string;
  connectionId: string;
}

interface Failed {
  next: CrmPush;
  error: CrmUnavailable;
}

interface Sync {
  /** The time was over before. */
  hasMore: boolean;
  /** The connection was deleted. */
  isGone: boolean;
  /** Since when the provider does not answer or refuses; null: it answered. */
  failingSince: Date | null;
  /** Whether it began to fail, or answers again. */
  hasChanged: boolean;
}

function createCrmSync({ pools, crms, secrets, logger, crmPollSeconds }: ProcessDependencies) {
  const pollMs = crmPollSeconds * 1000;

  function syncOf({ workspaceId, connectionId }: ConnectionOf, canceled: AbortSignal, ms: number) {
    const end = Date.now() + ms;
    const hasTime = (): boolean => !canceled.aborted && Date.now() < end;
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    const accountOf = ({ accountId, tokenSealed }: CrmConnectionRow): CrmAccount => ({
      accountId,
      token: secrets.open(tokenSealed, crmTokenContext(workspaceId, connectionId)),
    });

    /** With a token that does not expire soon. */
    async function renewed(connection: CrmConnectionRow): Promise<CrmConnectionRow> {
      const token = await crms[connection.provider].renew?.(accountOf(connection).token);
      if (token === null || token === undefined) return connection;
      const tokenSealed = secrets.seal(token, crmTokenContext(workspaceId, connectionId));
      await tenant((db) => renewCrmToken(db, connection, tokenSealed));
      return { ...connection, tokenSealed };
    }

    /**
     * Makes a person a contact, and a lead unless they are one. A new contact enters no campaign: we know of it from here.
     * @returns its id.
     */
    async function create(connection: CrmConnectionRow, person: NewCrmContact): Promise<string> {
      const provider = crms[connection.provider];
      const id = await provider.create(accountOf(connection), person);
      await tenant(async (db) => {
        // Older than any version that is read.
        const contact = { ...person, id, ownerEmail: null, modifiedAt: new Date(0) };
        const country = await workspaceCountry(db);
        await receiveContact(
          db,
          { ...connection, campaignId: null },
          contact,
          { country },
          currentTime(),
          'out',
        );
      });
      return id;
    }

    /**
     * Pushes to the CRM what has happened, in order.
     * @returns whether that is all; `failed`: the one thing that it has failed to take, with which it ends.
     */
    async function pushChanges(connection: CrmConnectionRow): Promise<{ isDone: boolean; failed?: Failed }> {
      const provider = crms[connection.provider];
      const account = accountOf(connection);
      while (hasTime()) {
        const readAt = performance.now();
        const next = await tenant((db) => nextCrmPush(db, connection, currentTime()));
        if (!next) return { isDone: true };
        if (performance.now() - readAt > PUSH_WITHIN_MS) return { isDone: false };
        let refused: string | null = null;
        let toldAt = currentTime();
        let contactId = next.push?.contactId ?? null;
        if (next.push)
          try {
            const { change, person } = next.push;
            if (change.kind !== 'status') contactId ??= await create(connection, person);
            if (change.kind !== 'contact') toldAt = await provider.push(account, contactId ?? '', change);
          } catch (error) {
            // Whoever wants to be left alone has not looked at it.
            if (error instanceof CrmUnavailable && error.retryAfterMs === null)
              return { isDone: false, failed: { next, error } };
            if (!(error instanceof CrmRefused)) throw error;
            refused = error.message;
          }
        const ids = provider.idsOf(connection.accountId, contactId ?? '');
        await tenant((db) =>
          settleCrmPush(db, connectionId, next, { contactId, refused, ids, toldAt }, currentTime()),
        );
      }
      return { isDone: false };
    }

    /** Counts what a CRM that answers otherwise has failed to take. @throws its error, until it is set aside. */
    async function setAside({ next, error }: Failed): Promise<void> {
      const isSetAside = await tenant((db) =>
        recordCrmPushFailure(db, connectionId, next, error.message, currentTime()),
      );
      if (!isSetAside) throw error;
      await tenant((db) => resumeCrm(db, connectionId));
    }

    /** When to look for changes again, which changes to push do not bring forward; null: now. */
    function nextReadOf({ error, syncedAt }: CrmConnectionRow): Date | null {
      if (error !== null || syncedAt === null) return null;
      const waitedMs = currentTime().getTime() - syncedAt.getTime();
      return waitedMs < pollMs / 2 ? new Date(syncedAt.getTime() + pollMs) : null;
    }

    /** Takes over the contacts that have changed. @returns whether those are all. */
    async function read(connection: CrmConnectionRow): Promise<boolean> {
      const provider = crms[connection.provider];
      const account = accountOf(connection);
      let position = { readUntil: connection.readUntil, readAfter: connection.readAfter };
      let startedAt: Date | null = null;
      while (hasTime()) {
        const page = await provider.readContacts(account, position);
        startedAt ??= page.answeredAt;
        const { contacts, country } = await tenant(async (db) => ({
          contacts: await unseenContacts(db, connectionId, page.contacts),
          country: await workspaceCountry(db),
        }));
        for (const contact of contacts) {
          await tenant((db) => receiveOptOuts(db, connection, contact, { country }, currentTime()));
          await tenant((db) => receiveContact(db, connection, contact, { country }, currentTime()));
        }
        position = page.position;
        const surely = surelyRead(connection.readUntil, startedAt);
        const isSure = page.hasMore && position.readUntil <= surely;
        await tenant((db) =>
          advanceCrm(db, connection, isSure ? position : { readUntil: surely, readAfter: null }),
        );
        if (!page.hasMore) return true;
      }
      return false;
    }

    return async (): Promise<Sync> => {
      const nextAt = (at: Date) =>
        decide(pools, workspaceId, crmConnectionId(connectionId), async () => ({ nextAt: at }));
      // Set before the connection is read, so that a later change of it brings it forward again.
      await nextAt(fromNow(pollMs));
      const found = await tenant((db) => findCrmConnection(db, connectionId));
      if (!found) {
        await tenant((db) => clearCrmOutbox(db, connectionId));
        return { hasMore: false, isGone: true, failingSince: null, hasChanged: false };
      }
      let connection = found;
      const { pausedUntil, failingSince: knownSince } = connection;
      if (pausedUntil !== null && pausedUntil > currentTime()) {
        await nextAt(pausedUntil);
        return { hasMore: false, isGone: false, failingSince: knownSince, hasChanged: false };
      }
      try {
        connection = await renewed(connection);
        const nextRead = nextReadOf(connection);
        // Before anything is pushed: what happens from then on brings it forward again.
        if (nextRead !== null) await nextAt(nextRead);
        const { isDone: isPushed, failed } = await pushChanges(connection);
        if (isPushed && nextRead !== null) {
          return { hasMore: false, isGone: false, failingSince: null, hasChanged: false };
        }
        // Only whoever answers this is known to fail at that one thing.
        const isRead = (isPushed || failed !== undefined) && (await read(connection));
        if (failed) await setAside(failed);
        const isDone = isPushed && isRead;
        if (!isDone) await nextAt(currentTime());
        const hasChanged = isDone && (await tenant((db) => recordCrmSync(db, connectionId, currentTime())));
        return { hasMore: !isDone, isGone: false, failingSince: null, hasChanged };
      } catch (error) {
        const isDenied = error instanceof CrmDenied;
        if (!isDenied && !(error instanceof CrmUnavailable || error instanceof CrmRefused)) throw error;
        const { message } = error;
        logger.warn({ workspaceId, connectionId, reason: message }, 'a CRM could not be asked');
        const now = currentTime();
        const asked = error instanceof CrmUnavailable ? error.retryAfterMs : null;
        const failingMs = now.getTime() - (knownSince?.getTime() ?? now.getTime());
        const waitMs = isDenied ? DENIED_AGAIN_MS : (asked ?? retryMs(failingMs));
        const pausedUntil = new Date(now.getTime() + waitMs);
        const failure = {
          status: isDenied ? 'broken' : connection.status,
          error: message,
          pausedUntil,
        } as const;
        const failingSince = await tenant((db) => recordCrmFailure(db, connection, failure, now));
        // null: another token was given, with which it is tried at once.
        await nextAt(failingSince === null ? now : pausedUntil);
        return { hasMore: false, isGone: false, failingSince, hasChanged: knownSince === null };
      }
    };
  }
  return { sync: (of: ConnectionOf, canceled: AbortSignal, ms: number) => syncOf(of, canceled, ms)() };
}

/** As long as it has failed already, within bounds. */
const retryMs = (failingMs: number): number =>
  Math.min(LONGEST_RETRY_MS, Math.max(FIRST_RETRY_MS, failingMs));

export function createCrmActivities(dependencies: Dependencies) {
  const { pools, roundClaims, crmPollSeconds } = dependencies;
  const { sync } = createCrmSync(dependencies);
  return {
    /** Brings the leads of a workspace and a connected CRM together, and says how the rounds of processes go, which follow. */
    syncCrm: ({ workspaceId, connectionId }: ConnectionOf): Promise<Round> => {
      const workflowId = crmConnectionId(connectionId);
      return withHeartbeat((canceled) =>
        roundClaims.during({ workspaceId, workflowId }, async () => {
          const { hasMore, isGone, failingSince } = await sync(
            { workspaceId, connectionId },
            canceled,
            ROUND_MS,
          );
          if (hasMore) return roundOf(dueNow('there is more to read or to push'));
          if (isGone) return decideToEnd(pools, workspaceId, workflowId, 'the connection was deleted');
          const reason =
            failingSince === null
              ? `a worker looks at the CRM every ${crmPollSeconds} seconds`
              : `the CRM has not answered, or has refused, since ${failingSince.toISOString()}; a worker tries again`;
          return { nextAt: null, reason, isPolled: true };
        }),
      );
    },
  };
}

/** The rounds of CRMs that processes take themselves. The workflow receives what operators are to see. */
export function crmRounds(dependencies: ProcessDependencies, slots: number): Rounds {
  const { sync } = createCrmSync(dependencies);
  return {
    slots,
    async run({ workspaceId, subjectId: connectionId }, canceled) {
      const { isGone, hasChanged } = await sync({ workspaceId, connectionId }, canceled, TAKEN_MS);
      return isGone || hasChanged ? 'hand over' : 'done';
    },
  };
}
