import type { Logger } from 'pino';
import { hasOwner, replaceSetupCode, SETUP_CODE_MINUTES } from '#db/queries/accounts/installation.ts';
import type { Pools } from '#db/connection/pools.ts';
import { type SystemDb, systemDb } from '#db/connection/transactions.ts';
import type { Config } from '#domain/base/config.ts';
import { hashSecretToken, newSecretToken } from '#domain/base/secret-token.ts';

/** Whether the installation waits for its first owner. Only production does: `npm start` makes its demo. */
export const isWaitingForSetup = async (
  db: SystemDb,
  { production }: Pick<Config, 'production'>,
): Promise<boolean> => production && !(await hasOwner(db));

/** The database may not be migrated, or reachable, when the process starts. */
const RETRY_MS = 5000;

/**
 * Logs a one-time code for `POST /api/setup` if the installation waits for its first owner. The code of the process that started
 * last counts.
 * @returns a function that ends further tries.
 */
export function announceSetup(pools: Pools, config: Config, logger: Logger): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const announce = async (): Promise<void> => {
    const db = systemDb(pools);
    if (!(await isWaitingForSetup(db, config))) return;
    const setupCode = newSecretToken();
    await replaceSetupCode(db, hashSecretToken(setupCode));
    // The only secret in a log: whoever reads it here before the owner has used it could as well run the operators' commands.
    logger.warn(
      { setupCode, url: `${config.publicUrl}/console` },
      `nobody owns this installation: set it up with this code within ${SETUP_CODE_MINUTES} minutes, or get a new one with npm run ops -- setup-code`,
    );
  };
  const attempt = (): void => {
    announce().catch((error: unknown) => {
      if (isEnded) return;
      logger.warn({ error }, 'the setup code was not made');
      timer = setTimeout(attempt, RETRY_MS);
    });
  };
  if (config.production) attempt();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}
