import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from './rows.ts';
import type { SystemDb } from './transactions.ts';

/** The keys of a process (`ENCRYPTION_KEYS`, `SIGNING_KEYS`). */
export interface ProcessKeys {
  secrets: { seal(plain: string, context: string): string; open(sealed: string, context: string): string };
  signer: {
    sign(purpose: string, parts: readonly string[]): string;
    verify(purpose: string, parts: readonly string[], signature: string): boolean;
  };
}

const KINDS = ['encryption', 'signing'] as const;
type Kind = (typeof KINDS)[number];

/** What `secretContext('canary', 'encryption', 'value')` gives, which rotation of the keys uses. */
const CONTEXT = JSON.stringify(['canary', 'encryption', 'value']);
const CONTENT = 'linepace';
/** By then, all processes have the key that a rotation has put first. */
const RESIGN_AFTER = sql.fragment`interval '1 hour'`;

const Canary = z.object({ kind: z.enum(KINDS), value: z.string() });
const KeyRow = z.object({ keySealed: z.string() });

/**
 * Checks that a process can read what others have encrypted and signed. The first process of a database creates what is checked.
 * @throws with the name of the variable whose keys are wrong.
 */
export async function checkKeys(db: SystemDb, { secrets, signer }: ProcessKeys): Promise<void> {
  const find = () => db.any(sql.type(Canary)`select kind, value from key_canaries`);
  const made: Record<Kind, () => string> = {
    encryption: () => secrets.seal(CONTENT, CONTEXT),
    signing: () => signer.sign('canary', [CONTENT]),
  };
  const reads: Record<Kind, (value: string) => boolean> = {
    encryption: (value) => opens(() => secrets.open(value, CONTEXT) === CONTENT),
    signing: (value) => signer.verify('canary', [CONTENT], value),
  };
  let canaries = await find();
  for (const kind of KINDS) {
    if (canaries.some((canary) => canary.kind === kind)) continue;
    if (kind === 'encryption') await requireOlderSecret(db, secrets);
    await db.query(sql.type(NoRows)`
      insert into key_canaries (kind, value) values (${kind}, ${made[kind]()}) on conflict do nothing`);
    canaries = await find();
  }
  for (const { kind, value } of canaries) {
    if (!reads[kind](value)) throw new Error(`${VARIABLES[kind]} cannot read what is stored`);
  }
  const signed = canaries.find(({ kind }) => kind === 'signing');
  if (signed && signed.value !== made.signing())
    await db.query(sql.type(NoRows)`
      update key_canaries set value = ${made.signing()}, made_at = now()
      where kind = 'signing' and made_at < now() - ${RESIGN_AFTER}`);
}

const VARIABLES: Record<Kind, string> = { encryption: 'ENCRYPTION_KEYS', signing: 'SIGNING_KEYS' };

/** A database from before there were canaries has a secret that its keys have encrypted. */
async function requireOlderSecret(db: SystemDb, secrets: ProcessKeys['secrets']): Promise<void> {
  const sealed = await db.maybeOneFirst(sql.type(KeyRow)`select key_sealed from hash_keys limit 1`);
  if (sealed !== null && !opens(() => secrets.open(sealed, HASH_CONTEXT) !== ''))
    throw new Error(`${VARIABLES.encryption} cannot read what is stored`);
}

/** As in providers/key-seal.ts. */
const HASH_CONTEXT = JSON.stringify(['hash', 'addresses', 'key']);

function opens(open: () => boolean): boolean {
  try {
    return open();
  } catch {
    return false;
  }
}
