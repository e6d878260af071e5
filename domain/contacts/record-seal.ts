import { z } from 'zod';

/**
 * Seals of what was recorded: a keyed hash of the record, and one of the chain up to it. Whoever changes the tables does not have the
 * key, which the database has only encrypted. Pure functions; the hashes are computed by the caller.
 */

/** `send`: a message, as it was given to its carrier. */
export const SealKind = z.enum(['audit', 'consent', 'send']);
export type SealKind = z.infer<typeof SealKind>;

export interface StoredSeal {
  /** In the chain of the workspace, from 1. */
  position: number;
  kind: SealKind;
  recordId: string;
  digest: string;
  /** Empty for the first. */
  previous: string;
  hash: string;
  sealedAt: Date;
}

/** What is sealed. The content has a fixed order of values. */
export interface Sealable {
  kind: SealKind;
  id: string;
  content: readonly unknown[];
}

/** The text whose keyed hash is the digest of a record. */
export const sealedText = ({ kind, id, content }: Sealable): string =>
  `seal ${JSON.stringify([kind, id, content])}`;

/** The text whose keyed hash is that of a seal. */
export const linkText = ({
  position,
  previous,
  digest,
}: Pick<StoredSeal, 'position' | 'previous' | 'digest'>): string =>
  `chain ${JSON.stringify([position, previous, digest])}`;

export const Seal = z
  .object({
    state: z.enum(['intact', 'edited', 'changed', 'pending', 'unsealed']).meta({
      description:
        '`intact`: it is what was recorded. `edited`: its text is not what was sent first, because it was edited or taken back ' +
        'afterwards, as the audit log says. `changed`: it is not what was recorded, or the chain is broken around it. ' +
        '`pending`: it is too new to be sealed. `unsealed`: it is older and has no seal.',
    }),
    position: z.int().nullable().meta({ description: "In the workspace's chain." }),
    hash: z.string().nullable(),
    sealedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Seal' });
export type Seal = z.infer<typeof Seal>;

/** Seals are made every ten minutes, or later if there is much to do. */
const SEALED_WITHIN_MS = 3_600_000;

/** What is known about a record, besides the keyed hashes of what is stored now. */
interface Checked {
  /** null: it has none. */
  seal: StoredSeal | null;
  /** Keyed hashes computed now: of the record, and of its seal. */
  digest: string;
  hash: string;
  /** The hash of the seal before it; null: there is none. */
  before: string | null;
  /** What the seal after it says; null: there is none. */
  after: string | null;
  isLast: boolean;
  recordedAt: Date;
  /** An intact entry of the audit log says that it was edited or taken back after it was sent. */
  isEdited: boolean;
}

/** Compares a record with its seal. */
export function checkSeal(
  { seal, digest, hash, before, after, isLast, recordedAt, isEdited }: Checked,
  now: Date,
): Seal {
  if (!seal) {
    const isNew = now.getTime() - recordedAt.getTime() < SEALED_WITHIN_MS;
    return { state: isNew ? 'pending' : 'unsealed', position: null, hash: null, sealedAt: null };
  }
  const isLinked =
    hash === seal.hash &&
    (seal.position === 1 ? seal.previous === '' : before === seal.previous) &&
    (isLast || after === seal.hash);
  const isSame = digest === seal.digest;
  return {
    state: !isLinked || (!isSame && !isEdited) ? 'changed' : isSame ? 'intact' : 'edited',
    position: seal.position,
    hash: seal.hash,
    sealedAt: seal.sealedAt.toISOString(),
  };
}
