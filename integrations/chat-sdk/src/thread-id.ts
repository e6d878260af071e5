/** A thread of the Chat SDK is the conversation with a contact. */
export interface LinepaceThread {
  /** A phone number or an email address. */
  address: string;
}

const NAME = 'linepace';

export const encodeThreadId = ({ address }: LinepaceThread): string =>
  `${NAME}:${Buffer.from(address).toString('base64url')}`;

/** @throws TypeError */
export function decodeThreadId(threadId: string): LinepaceThread {
  const [name, encoded = ''] = threadId.split(':');
  const address = Buffer.from(encoded, 'base64url').toString();
  if (name !== NAME || address === '') throw new TypeError(`${threadId} is not the id of a Linepace thread`);
  return { address };
}

/** The field of a request that names the contact. */
export const contactOf = (threadId: string): { email: string } | { phone: string } => {
  const { address } = decodeThreadId(threadId);
  return address.includes('@') ? { email: address } : { phone: address };
};
