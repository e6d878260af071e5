import { createPools } from '#db/pools.ts';
import { createTenant } from '../chaos/everything.ts';
import { insist, type Tenant } from '../chaos/load.ts';
import type { Installation } from './installation.ts';

const TENANTS = ['north', 'south'];
const LINES_EACH = 8;

/** Creates tenants with lines at BlueBubbles, and one with a cap at Twilio. */
export async function createTenants({ database, carriers, publicUrl }: Installation): Promise<Tenant[]> {
  const pools = await createPools(database);
  const tenants: Tenant[] = [];
  for (const name of TENANTS) tenants.push(await createTenant(pools, name, LINES_EACH));
  await pools.close();
  for (const { key, lineIds, cappedLineId } of tenants) {
    const connect = async (lineId: string, provider: string, config: object): Promise<void> => {
      const route = `/api/lines/${lineId}/carrier`;
      const { status, body } = await insist(publicUrl, key, 'PUT', route, { provider, config });
      if (status !== 200) throw new Error(`the line was not connected: ${JSON.stringify(body)}`);
    };
    for (const lineId of lineIds) await connect(lineId, 'bluebubbles', await carriers.serverOf(lineId));
    await connect(cappedLineId, 'twilio', carriers.account);
  }
  return tenants;
}
