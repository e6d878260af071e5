/** Our own Message-IDs, at any domain: the id of an attempt, and since they are secret, 64 random bits. */
export const OWN_MESSAGE_ID = /<[0-9a-f]{24}(?:\.[0-9a-f]{16})?@[^<>\s]+>/g;

/** Those that only the recipient's mail servers can know: anybody may send a report. */
export const SECRET_MESSAGE_ID = /<[0-9a-f]{24}\.[0-9a-f]{16}@[^<>\s]+>/g;
