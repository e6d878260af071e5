import type { JWK } from 'jose';
import { sql } from 'slonik';
import { signLocalSession } from '#api/auth/session-token.ts';
import { emptyTwin, ensureTwin } from '#db/commands/test-mode/twin.ts';
import { createPools } from '#db/connection/pools.ts';
import { addMember, ensureUser, findWorkspaceByName, insertWorkspace } from '#db/queries/accounts/tenants.ts';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import type { Config } from '#domain/base/config.ts';
import { type LivelyDemo, readLively, writeLively } from './lively-file.ts';

const NAME = 'Harbour Homes';
const COLLEAGUE = { email: 'noah.kim@harbourhomes.example', name: 'Noah Kim' };
const SESSION_LIFETIME = '365 days';

/** How long ago the clock of the twin starts. */
export const LIVELY_DAYS = 29;
const DAY_MS = 86_400_000;

/**
 * Creates the workspace with its twin, whose clock starts a month ago, and empties a twin whose month was interrupted.
 * @param findOwner returns the owner of the demo workspace, who owns this one too, so that the console can switch between them.
 */
export async function prepareLively(
  config: Config,
  dataDir: string,
  findOwner: () => Promise<{ id: string; email: string }>,
): Promise<LivelyDemo> {
  if (config.production || config.auth.localJwk === null)
    throw new Error('there is no lively demo in production');
  const known = await readLively(dataDir);
  if (known?.complete) return known;
  const owner = await findOwner();
  const startsAt = new Date(Date.now() - LIVELY_DAYS * DAY_MS);
  const pools = await createPools(config.database, { size: 1 });
  try {
    const made = await withSystem(pools, async (db) => {
      const colleague = await ensureUser(db, COLLEAGUE);
      const place = { name: NAME, agencyId: null };
      const workspaceId =
        (await findWorkspaceByName(db, { ...place, email: owner.email })) ??
        (await insertWorkspace(db, {
          ...place,
          timezone: daytimeZone(new Date()),
          country: 'US',
          billingMode: 'none',
          ownerId: owner.id,
        }));
      await addMember(db, { workspaceId, userId: colleague.id, role: 'org:member' });
      // What arrived before somebody joined is not unread.
      await db.query(sql.type(NoRows)`
        update workspace_members set joined_at = ${sql.timestamp(startsAt)}, inbox_since = ${sql.timestamp(startsAt)}
        where workspace_id = ${workspaceId}`);
      const testWorkspaceId = await ensureTwin(db, workspaceId);
      await emptyTwin(db, testWorkspaceId, startsAt);
      return { workspaceId, testWorkspaceId, colleagueId: colleague.id };
    });
    const sessionToken = await signLocalSession(JSON.parse(config.auth.localJwk) as JWK, config.auth.issuer, {
      userId: owner.id,
      organizationId: made.workspaceId,
      role: 'org:admin',
      expires: SESSION_LIFETIME,
    });
    const lively = { ...made, ownerId: owner.id, sessionToken, complete: false };
    await writeLively(dataDir, lively);
    return lively;
  } finally {
    await pools.close();
  }
}

/** This machine's zone, or in the morning and at night one where a day's work has been done, so that today has happened. */
function daytimeZone(now: Date): string {
  const zones = [
    Intl.DateTimeFormat().resolvedOptions().timeZone,
    'America/New_York',
    'Europe/Berlin',
    'Asia/Tokyo',
    'America/Los_Angeles',
    'Australia/Sydney',
    'Asia/Kolkata',
  ];
  const hourIn = (timeZone: string): number =>
    Number(new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' }).format(now));
  return zones.find((zone) => hourIn(zone) >= 14 && hourIn(zone) <= 21) ?? 'UTC';
}
