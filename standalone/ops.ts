import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '#workers/ops.ts';
import { databaseLogins } from './database-logins.ts';

/** `npm run ops`: uses the database and Temporal of `npm start`, unless the environment names others. */
const file = join(process.env['DATA_DIR'] ?? '.data', 'demo.json');
if (process.env['DATABASE_SYSTEM_URL'] === undefined && existsSync(file)) {
  const demo = JSON.parse(readFileSync(file, 'utf8')) as {
    databaseUrl: string;
    temporalAddress: string;
    baseUrl: string;
  };
  const { tenantUrl, systemUrl } = databaseLogins(demo.databaseUrl);
  Object.assign(process.env, {
    DATABASE_URL: tenantUrl,
    DATABASE_SYSTEM_URL: systemUrl,
    TEMPORAL_ADDRESS: demo.temporalAddress,
    PUBLIC_URL: process.env['PUBLIC_URL'] ?? demo.baseUrl,
  });
}
await main();
