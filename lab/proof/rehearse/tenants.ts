import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../bench/support/waiting.ts';
import { ops } from '../../../workers/ops.ts';
import { CAP } from '../chaos/everything.ts';
import { insist, type Tenant } from '../chaos/load.ts';
import { TWILIO_NUMBER } from './carriers.ts';
import type { Installation } from './installation.ts';

const LINES_EACH = 8;
/** Lines of each tenant that have a gap. */
const LINES_WITH_GAP = 3;
const UNPACED = {
  dailyTotalMessagesLimit: 10_000,
  dailyNewConversationsLimit: 10_000,
  hourlyNewConversationsLimit: 10_000,
  minGapSeconds: 0,
  contactGapSeconds: 0,
};
const ACTIVE_WITHIN_MS = 120_000;
const LOOK_MS = 1000;

type Site = Pick<Installation, 'publicUrl' | 'carriers'> & { current: Pick<Installation['current'], 'env'> };
/** @returns the body of the response. */
type Ask = <Body = unknown>(method: string, path: string, body?: object) => Promise<Body>;

interface Requested {
  line: { _id: string };
}

interface Listed {
  lines: { provisioningStatus: string; isActive: boolean }[];
}

interface Created {
  subAccount: { idpOrgId: string };
  workspaceApiKey: string;
}

/**
 * Sets the installation up, as its operator and its first owner do, with two workspaces of one agency. Each has lines at BlueBubbles, some
 * with a gap of a second, and one with a low cap at Twilio.
 */
export async function createTenants(site: Site): Promise<Tenant[]> {
  const { publicUrl } = site;
  const { stdout, stderr } = await ops(['setup-code'], site.current.env);
  if (stdout === '') throw new Error(stderr);
  const { code } = JSON.parse(stdout) as { code: string };
  const owner = { email: 'owner@example.com', firstName: 'Rehearsal', lastName: 'Owner' };
  const setup = { code, workspaceName: 'north', timezone: 'UTC', agencyName: 'Rehearsal', owner };
  const first = await asking(publicUrl, '')<{ workspaceId: string; token: string }>(
    'POST',
    '/api/setup',
    setup,
  );
  const asOwner = asking(publicUrl, first.token);
  const { key } = await asOwner<{ key: string }>('POST', '/api/keys', { name: 'Rehearsal' });
  const second = await asOwner<Created>('POST', '/api/agency/subaccounts', { name: 'south' });
  return [
    await withLines(site, { id: first.workspaceId, name: 'north', key }),
    await withLines(site, {
      id: second.subAccount.idpOrgId,
      name: 'south',
      key: second.workspaceApiKey,
    }),
  ];
}

async function withLines(
  { publicUrl, carriers }: Site,
  tenant: Pick<Tenant, 'id' | 'name' | 'key'>,
): Promise<Tenant> {
  const ask = asking(publicUrl, tenant.key);
  const lineIds: string[] = [];
  for (let index = 0; index < LINES_EACH; index += 1) {
    const lineId = await requestLine(ask, 'imessage');
    const config = await carriers.serverOf(lineId);
    await connectLine(ask, lineId, 'bluebubbles', numberOf(index), config);
    lineIds.push(lineId);
  }
  const cappedLineId = await requestLine(ask, 'sms');
  await connectLine(ask, cappedLineId, 'twilio', TWILIO_NUMBER, carriers.account);
  await until(async () => {
    const { lines } = await ask<Listed>('GET', '/api/lines/by-user');
    const areActive = lines.every((line) => line.provisioningStatus === 'active' && line.isActive);
    if (!areActive) await pause(LOOK_MS);
    return areActive;
  }, ACTIVE_WITHIN_MS);
  // A limit that is set by hand ends the warm-up.
  for (const [index, lineId] of lineIds.entries())
    await ask('PATCH', `/api/lines/${lineId}`, { ...UNPACED, minGapSeconds: index < LINES_WITH_GAP ? 1 : 0 });
  await ask('PATCH', `/api/lines/${cappedLineId}`, { ...UNPACED, dailyTotalMessagesLimit: CAP });
  return { ...tenant, lineIds, cappedLineId };
}

const numberOf = (index: number): string => `+1415555${String(1000 + index)}`;

async function requestLine(ask: Ask, channelType: 'imessage' | 'sms'): Promise<string> {
  const request = { channelType, lineType: 'byo', firstName: 'Rehearsal', lastName: 'Line' };
  return (await ask<Requested>('POST', '/api/line-requests', request)).line._id;
}

const connectLine = (ask: Ask, lineId: string, provider: string, address: string, config: object) =>
  ask('PUT', `/api/lines/${lineId}/carrier`, { provider, address, config });

/** @returns requests of a caller. They throw unless they succeed. */
const asking =
  (publicUrl: string, credential: string): Ask =>
  async <Body>(method: string, path: string, body?: object) => {
    const answer = await insist(publicUrl, credential, method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as Body;
  };
